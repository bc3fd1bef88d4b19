// Straight-line code over one index space, run tile by tile: what one operation hands to the next stays in
// the L1 cache, and nothing else is ever written to memory.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/elementwise.h"

namespace tn {

class TileCode {
 public:
  // A vector or a scalar of a run. `repeated`: one element stands for all of a vector.
  struct Operand {
    const void* data;
    bool repeated = false;
  };

  // Writing. Values are numbered; a scalar is one element that meets every element of a vector. Scalars that
  // depend on no reduction are computed before the loop over tiles, the others after it.
  int input(DType t, bool scalar);
  bool is_vector(int v) const { return values_[v].when == When::During; }
  bool is_late(int v) const { return values_[v].when == When::After; }
  DType dtype(int v) const { return values_[v].dtype; }
  // A vector if one of the operands is, which then must not be late. Operands are cast to what the kernel
  // takes.
  int apply(const elementwise::Kernel& k, std::span<const int> operands);
  int reduce(ReduceOp op, int x);
  int copy(int x) { return apply(elementwise::cast_kernel(dtype(x), dtype(x)), {&x, 1}); }
  int spread(int scalar);  // as a vector; it must not be late

  // The end of writing: which values are results, each of them once and none of them an input. The others
  // share as few tiles as their lives allow.
  void close(std::span<const int> results);
  // Vectors of one dtype that may share memory: no operand is read after its result begins to be written.
  struct Donation {
    int operand, result;
  };
  const std::vector<Donation>& donations() const { return donations_; }

  int size() const { return static_cast<int>(before_.size() + after_.size()) + loop_size_; }
  int loop_size() const { return loop_size_; }  // operations on each element
  std::string listing() const;  // "9 operations, 2 of them once, 5 in 2 chains; 3 tiles of 1024"

  // Vectors have n > 0 elements. Results do not overlap operands, donations aside.
  void run(std::span<const Operand> operands, std::span<void* const> results, size_t n) const;

 private:
  enum class When : uint8_t { Before, During, After };
  enum class Place : uint8_t { Operand, Result, Cell, Tile, Register };
  struct Value {
    DType dtype;
    When when;
    Place place = Place::Cell;
    int index = -1;
    int last_use = -1;  // position of the instruction that may take over its place
    int uses = 0;
  };
  struct Instruction {
    union {
      UnaryFn unary;
      BinaryFn binary;
      WhereFn where;
      ChainFn chain;
    };
    int in[elementwise::kMaxOperands];  // values; once closed, slots of a run. Of a chain: its first step
    int out;
    uint8_t n_in;               // 0: a chain
    ChainInner inner;           // the operand of a link is one of in[1] and in[2]
    std::optional<ChainOp> op;  // as which it can be part of a chain
    bool joined, linked;        // of the chain of the one before; taking over what that hands on
  };
  using Code = std::vector<Instruction>;
  // Vectors that a run walks through.
  struct Stream {
    int slot;
    size_t item;
  };
  struct Reduction {
    ReduceOp op;
    DType dtype;
    int value, slot;
  };
  class Leaves;
  class Order;
  class Places;
  class Run;

  int cast(int x, DType to);
  int add_value(DType t, When when);
  int emit(Instruction i, DType t, When when);
  Code& code(When when) { return when == When::Before ? before_ : when == When::During ? during_ : after_; }
  void count_uses();
  void find_last_uses();
  void find_donations();
  static int handed_on(const Instruction& i);
  static bool is_square(const Instruction& i);
  bool can_follow(const Instruction& before, const Instruction& i) const;
  void arrange();
  void find_links();
  void find_registers();
  void make_chains();
  Instruction chain_of(std::span<const Instruction> links);
  void place(Code& code, Places& cells, Places& tiles, int first_position);
  int slot(const Value& v) const;
  void resolve();
  bool is_one_chain() const { return during_.size() == 1 && during_[0].n_in == 0; }
  void choose_tile();
  size_t tile_for(size_t n, bool any_repeated) const;

  std::vector<Value> values_;
  std::map<std::pair<int, DType>, int> casts_;
  Code before_, during_, after_;
  std::vector<ChainStep> steps_;  // of all chains
  std::vector<Reduction> reductions_;
  std::vector<Stream> streams_;
  std::vector<Donation> donations_;
  std::vector<DType> operands_;
  int n_results_ = 0, n_cells_ = 0, n_tiles_ = 0, loop_size_ = 0;
  size_t tile_ = 0, tile_item_ = 1;
};

}  // namespace tn
