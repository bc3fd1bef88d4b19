// Operands seen block by block: the engines walk over a tensor in planes of rows x columns and ask each
// operand for a block of such a plane, which comes back in place where it can be used there, and in a tile
// (contiguous, in the dtype of the computation) where it cannot.
#pragma once
#include "core/tensor.h"
#include "kernels/table.h"

namespace tn {

constexpr int64_t kTile = 1024;  // elements of the largest block that needs a tile
constexpr int64_t kTransposeEdge = 32;
static_assert(kTransposeEdge * kTransposeEdge <= kTile);
constexpr int64_t kWorthUnlocking = 32768;  // elements; leaving and taking the interpreter lock costs 0.1 us

struct Block {
  int64_t rows, cols;
  int64_t size() const { return rows * cols; }
};

// A block as a kernel reads it: elements are contiguous along a row; `row` bytes from one row to the next.
struct Rows {
  const char* data;
  int64_t row;
  bool scalar;  // one element stands for the whole row
};

class BlockReader {
 public:
  // `row` and `col` are the byte strides of the plane; `to` is the dtype of the computation.
  void open(DType from, DType to, int64_t row, int64_t col, bool scalars_allowed) {
    from_ = from, to_ = to;
    row_ = row, col_ = col;
    scalars_allowed_ = scalars_allowed;
  }

  // Blocks of any size can be read without a tile.
  bool direct() const { return from_ == to_ && (contiguous() || (col_ == 0 && scalars_allowed_)); }
  // Rows are across the grain of memory: best read in square blocks.
  bool transposed() const { return row_ == item() && col_ != item() && col_ != 0; }
  // `packed`: the caller wants the whole block as one contiguous run (or one scalar).
  Rows read(const char* p, Block block, bool packed);

 private:
  int64_t item() const { return static_cast<int64_t>(itemsize(from_)); }
  bool contiguous() const { return col_ == item(); }
  bool is_packed(Block b) const { return contiguous() && (b.rows == 1 || row_ == b.cols * item()); }
  Rows read_scalars(const char* p, Block block);
  Rows read_tile(const char* p, Block block);
  const char* gather(const char* p, Block block);

  DType from_ = DType::F64, to_ = DType::F64;
  int64_t row_ = 0, col_ = 0;
  bool scalars_allowed_ = false;
  const char* held_ = nullptr;  // the address and size of the block that the tile holds
  Block held_block_{0, 0};
  alignas(64) char raw_[kTile * 16];
  alignas(64) char cast_[kTile * 16];
};

}  // namespace tn
