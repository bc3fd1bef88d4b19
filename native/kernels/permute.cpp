#include "kernels/permute.h"

#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/small_vector.h"
#include "kernels/bytes.h"
#include "kernels/table.h"

namespace tn {
namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kStreamed = int64_t{4} << 20;  // bytes of a destination that is written past the caches
constexpr int64_t kManyColumns = 8;              // fewer are written side by side well enough
constexpr int64_t kLongRow = 16;                 // items that are worth a call

struct Axis {
  int64_t size, dst, src;  // strides in bytes
};
using Stride = int64_t Axis::*;

// Tiles of one size along a side: items of each, how often, and where they begin.
struct Part {
  int64_t items;
  Axis blocks;
  int64_t dst, src;
};

// One side of the tiles: axes that follow each other along one operand, the last of them cut into blocks, and
// the offsets of a tile's items in the other operand.
struct Side {
  Stride along, across;
  int64_t most;                // items of a tile
  int64_t step = 0, next = 0;  // the stride of the items, and of an axis that would follow
  int64_t items = 1, rest = 0;
  Axis blocks{1, 0, 0};
  ptrdiff_t at[kMostPermuted] = {};

  bool full() const { return blocks.size > 1 || rest > 0 || 2 * items > most; }

  void add(const Axis& axis) {
    const int64_t part = part_of(axis.size);
    for (int64_t k = 1; k < part; ++k)
      for (int64_t i = 0; i < items; ++i) at[k * items + i] = at[i] + k * axis.*across;
    blocks = {axis.size / part, part * axis.dst, part * axis.src};
    rest = items * (axis.size % part);
    items *= part;
    next = axis.size * axis.*along;
  }

  int64_t total() const { return items * blocks.size + rest; }
  Part whole() const { return {items, blocks, 0, 0}; }
  Part remainder() const { return {rest, {1, 0, 0}, blocks.size * blocks.dst, blocks.size * blocks.src}; }

 private:
  // Blocks of about one size, of whole lines where there are several.
  int64_t part_of(int64_t size) const {
    const int64_t limit = std::max<int64_t>(most / items, 1);
    if (size <= limit) return size;
    const int64_t count = (size + limit - 1) / limit, even = (size + count - 1) / count;
    return std::min(limit, (even + 15) / 16 * 16);
  }
};

class Plan {
 public:
  Plan(const Nest<2>& nest, int64_t item) : dst_(nest.data[0]), src_(nest.data[1]), item_(item) {
    for (int axis = nest.ndim() - 1; axis >= 0; --axis)
      axes_.push_back({nest.shape[axis], nest.strides[0][axis], nest.strides[1][axis]});
  }

  void run() {
    join_run();
    if (axes_.empty())
      std::memcpy(dst_, src_, static_cast<size_t>(item_));
    else if (!runs_ && follows_rows())
      copy_rows();
    else
      copy_tiles();
  }

 private:
  // What is contiguous in both operands is one item.
  void join_run() {
    if (axes_.empty() || axes_[0].dst != item_ || axes_[0].src != item_) return;
    item_ *= take(0).size;
    runs_ = item_ > 16 || (item_ & (item_ - 1)) != 0;
  }

  // Both operands move least along the same axis, or the source repeats one element.
  bool follows_rows() const {
    if (axes_.size() == 1) return true;
    return axes_[0].size >= kLongRow && (axes_[0].src == 0 || along_source(0) == 0);
  }

  void copy_rows() {
    const Axis row = take(0);
    const auto item = static_cast<size_t>(item_);
    loops().each(0, [&](auto& at) {
      if (row.dst == item_)
        kernels().load_strided[size_index(item)](at[1], row.src, at[0], static_cast<size_t>(row.size));
      else
        by_size(item, [&]<class T>(T) { copy_row<T>(at[0], row.dst, at[1], row.src, row.size); });
    });
  }

  void copy_tiles() {
    const int64_t most = std::clamp<int64_t>(kPermutedBytes / item_, 1, kMostPermuted);
    Side rows{&Axis::dst, &Axis::src, most}, cols{&Axis::src, &Axis::dst, most};
    if (axes_.size() > 1) start(cols, along_source(1));
    start(rows, 0);
    while (extend(rows) | extend(cols)) {
    }
    PermuteTile tile{};
    tile.row_at = rows.at, tile.col_at = cols.at;
    tile.item = static_cast<size_t>(item_);
    tile.src_item = cols.step, tile.dst_item = rows.step;
    tile.stream = streams(rows, cols);
    const PermuteFn kernel = kernel_for(rows, cols);
    for (const Part& c : {cols.whole(), cols.remainder()})
      for (const Part& r : {rows.whole(), rows.remainder()}) copy_part(r, c, kernel, tile);
#if defined(__x86_64__)
    if (tile.stream) _mm_sfence();
#endif
  }

  Axis take(int i) {
    const Axis axis = axes_[i];
    for (; i + 1 < axes_.size(); ++i) axes_[i] = axes_[i + 1];
    axes_.resize(axes_.size() - 1);
    return axis;
  }

  // The axis, from `first` on, along which the source moves least.
  int along_source(int first) const {
    int best = first;
    for (int i = first + 1; i < axes_.size(); ++i)
      if (axes_[i].src != 0 && (axes_[best].src == 0 || std::abs(axes_[i].src) < std::abs(axes_[best].src)))
        best = i;
    return best;
  }

  void start(Side& side, int axis) {
    side.step = std::abs(axes_[axis].*side.along);
    add(side, axis);
  }

  bool extend(Side& side) {
    if (side.full()) return false;
    for (int i = 0; i < axes_.size(); ++i)
      if (std::abs(axes_[i].*side.along) == side.next) {
        add(side, i);
        return true;
      }
    return false;
  }

  // The operand along which the side lies moves forward.
  void add(Side& side, int i) {
    Axis axis = take(i);
    if (axis.*side.along < 0) {
      dst_ += (axis.size - 1) * axis.dst, src_ += (axis.size - 1) * axis.src;
      axis.dst = -axis.dst, axis.src = -axis.src;
    }
    side.add(axis);
  }

  PermuteFn kernel_for(const Side& rows, const Side& cols) const {
    if (runs_) return kernels().permute_runs;
    const int size = size_index(static_cast<size_t>(item_));
    return rows.step == item_ && cols.step == item_ ? kernels().permute[size]
                                                    : kernels().permute_strided[size];
  }

  // Large destinations are written past the caches, where that makes runs of several lines, or only whole
  // ones.
  bool streams(const Side& rows, const Side& cols) const {
    const int64_t run = runs_ ? item_ : rows.step == item_ ? rows.items * item_ : 0;
    int64_t bytes = item_ * rows.total() * cols.total();
    for (const Axis& axis : axes_) bytes *= axis.size;
    const bool many = run >= 4 * kLine && (runs_ || cols.items >= kManyColumns);
    return bytes >= kStreamed && (many || (run > 0 && whole_lines(run, rows, cols)));
  }
  bool whole_lines(int64_t run, const Side& rows, const Side& cols) const {
    const auto whole = [](int64_t stride) { return stride % kLine == 0; };
    bool lines = whole(run) && whole(reinterpret_cast<intptr_t>(dst_));
    lines &= whole(rows.blocks.dst) && whole(cols.blocks.dst) && (!runs_ || whole(rows.step));
    for (int64_t i = 0; i < cols.items; ++i) lines &= whole(cols.at[i]);
    for (const Axis& axis : axes_) lines &= whole(axis.dst);
    return lines;
  }

  // The axes outside of the tiles: the destination is written in order.
  Nest<2> loops(std::initializer_list<Axis> blocks = {}) const {
    SmallVector<Axis, 8> all;
    for (const Axis& axis : axes_) all.push_back(axis);
    for (const Axis& axis : blocks) all.push_back(axis);
    std::stable_sort(all.begin(), all.end(),
                     [](const Axis& a, const Axis& b) { return std::abs(a.dst) > std::abs(b.dst); });
    Nest<2> nest{{}, {}, {dst_, src_}};
    for (const Axis& axis : all) nest.add(axis.size, {axis.dst, axis.src});
    return nest;
  }

  void copy_part(const Part& rows, const Part& cols, PermuteFn kernel, PermuteTile tile) const {
    if (rows.items == 0 || cols.items == 0) return;
    Nest<2> nest = loops({rows.blocks, cols.blocks});
    nest.data[0] += rows.dst + cols.dst, nest.data[1] += rows.src + cols.src;
    tile.rows = static_cast<size_t>(rows.items), tile.cols = static_cast<size_t>(cols.items);
    tile.repeat = 1;
    if (const int last = nest.ndim() - 1; last >= 0) {
      tile.repeat = static_cast<size_t>(nest.shape[last]);
      tile.dst_step = nest.strides[0][last], tile.src_step = nest.strides[1][last];
    }
    nest.each(1, [&](auto& at) {
      tile.dst = at[0], tile.src = at[1];
      kernel(tile);
    });
  }

  SmallVector<Axis, 8> axes_;  // from the innermost of the destination outwards
  char *dst_, *src_;
  int64_t item_;
  bool runs_ = false;
};

}  // namespace

void permute(const Nest<2>& nest, int64_t item) {
  if (!nest.empty()) Plan(nest, item).run();
}

}  // namespace tn
