#include "kernels/block.h"

namespace tn {

Rows BlockReader::read(const char* p, Block block, bool packed) {
  const bool one_scalar = block.rows == 1 || row_ == 0;
  if (col_ == 0 && scalars_allowed_ && (one_scalar || !packed)) return read_scalars(p, block);
  if (from_ == to_ && contiguous() && (!packed || is_packed(block))) return {p, row_, false};
  return read_tile(p, block);
}

Rows BlockReader::read_scalars(const char* p, Block block) {
  if (from_ == to_) return {p, row_, true};
  const int64_t n = row_ == 0 ? 1 : block.rows;
  kernels().load_strided[size_index(from_)](p, row_, raw_, n);
  kernels().cast[int(from_)][int(to_)](raw_, cast_, n);
  return {cast_, row_ == 0 ? 0 : static_cast<int64_t>(itemsize(to_)), true};
}

Rows BlockReader::read_tile(const char* p, Block block) {
  const bool held = held_ == p && held_block_.rows == block.rows && held_block_.cols == block.cols;
  const char* tile = from_ == to_ ? raw_ : cast_;
  if (!held) {
    const char* elements = is_packed(block) ? p : gather(p, block);
    if (from_ != to_) kernels().cast[int(from_)][int(to_)](elements, cast_, block.size());
    held_ = p;
    held_block_ = block;
  }
  return {tile, block.cols * static_cast<int64_t>(itemsize(to_)), false};
}

const char* BlockReader::gather(const char* p, Block block) {
  const KernelTable& k = kernels();
  const int size = size_index(from_);
  if (block.rows > 1 && block.cols > 1 && row_ == item()) {
    k.transpose2d[size](p, col_ / item(), raw_, block.cols, block.cols, block.rows);
    return raw_;
  }
  for (int64_t r = 0; r < block.rows; ++r)
    k.load_strided[size](p + r * row_, col_, raw_ + r * block.cols * item(), block.cols);
  return raw_;
}

}  // namespace tn
