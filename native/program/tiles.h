// TileGroup: neighbouring steps of a program that are elementwise operations and reductions over all axes,
// run together, tile by tile. Values that nobody reads after the group are never written to memory.
#pragma once
#include <memory>

#include "kernels/fused.h"
#include "program/program.h"

namespace tn {

class TileGroup {
 public:
  // As many of the steps from `first` on as can run together; null if that is fewer than two, and nothing can
  // be written in place. `registers` has
  // dtype and traced shape of every register, `sizes` is the table that the steps' sizes refer to.
  static std::unique_ptr<TileGroup> compile(std::span<const Step> steps, size_t first,
                                            std::span<const Meta> registers, std::span<const SizeExpr> sizes);

  int n_steps() const { return n_steps_; }
  const std::vector<int>& inputs() const { return input_registers_; }     // from outside
  const std::vector<int>& outputs() const { return output_registers_; }   // read after the group
  const std::vector<int>& output_steps() const { return output_steps_; }  // that make them, from `first` on
  const std::vector<int>& dies() const { return dies_; }  // those from outside that are not read after it
  std::string listing() const;

  // Writes every output. False, and nothing done, where shapes or strides do not allow it: all operands that
  // are no scalars must have one shape and one dense layout. An output that is read for its shape only has no
  // data.
  bool run(std::span<const Tensor* const> inputs, Tensor* const* outputs) const;

 private:
  struct Input {
    DType dtype;
    bool scalar;       // of no dimensions
    int operand = -1;  // of the code; none if only the shape matters
  };
  struct Output {
    enum class Kind : uint8_t {
      Result,    // of the code
      Repeated,  // a view of a scalar that has the common shape
      Filled,    // with a scalar
      Shape      // no data
    };
    Kind kind;
    DType dtype;
    bool scalar;
    int source = 0;  // result of the code, or ~i for input i
  };
  struct Result {
    int value;
    int output;  // that it is, or -1 if it is only a source
    DType dtype;
    bool scalar;
  };
  struct Donation {
    int input, result;
  };
  struct FixedSize {
    int axis;
    int64_t size;
  };
  class Compiler;
  class Operands;
  class Results;

  static Tensor spread(const Output& o, const Tensor& scalar, const Layout& common);
  static Tensor shape_of(const Output& o, const Layout& common);

  TileCode code_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  std::vector<Result> results_;
  std::vector<FixedSize> fixed_sizes_;
  std::vector<Donation> donations_;
  std::vector<int> input_registers_, output_registers_, output_steps_, dies_;
  int n_steps_ = 0, n_operands_ = 0;
};

}  // namespace tn
