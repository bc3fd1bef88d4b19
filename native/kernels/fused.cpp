#include "kernels/fused.h"

#include <climits>
#include <new>
#include <string>
#include <utility>

#include "core/small_vector.h"
#include "kernels/tree.h"

namespace tn {
namespace {

constexpr size_t kCellBytes = 16;
constexpr size_t kLine = 64;  // bytes, and elements that tiles are a multiple of

constexpr bool is_chain_dtype(DType t) { return t == DType::F32 || t == DType::F64; }

constexpr size_t round_up(size_t n) { return (n + kLine - 1) / kLine * kLine; }

// What a chain calls the kernel; none if chains cannot do it.
std::optional<ChainOp> chain_op(const elementwise::Kernel& k) {
  constexpr std::pair<UnaryOp, ChainOp> unary[] = {{UnaryOp::square, ChainOp::square},
                                                   {UnaryOp::negative, ChainOp::negative},
                                                   {UnaryOp::abs, ChainOp::abs},
                                                   {UnaryOp::sqrt, ChainOp::sqrt},
                                                   {UnaryOp::exp, ChainOp::exp}};
  constexpr std::pair<BinaryOp, ChainOp> binary[] = {{BinaryOp::add, ChainOp::add},
                                                     {BinaryOp::subtract, ChainOp::subtract},
                                                     {BinaryOp::multiply, ChainOp::multiply},
                                                     {BinaryOp::divide, ChainOp::divide}};
  if (k.out != k.in[0] || !is_chain_dtype(k.out)) return {};
  for (auto [op, chain] : unary)
    if (k.n_in == 1 && k.unary == kernels().at(op, k.out)) return chain;
  for (auto [op, chain] : binary)
    if (k.n_in == 2 && k.binary.vv == kernels().at(op, k.out).vv) return chain;
  return {};
}

}  // namespace

// ---- writing ----

int TileCode::add_value(DType t, When when) {
  values_.push_back({t, when});
  return static_cast<int>(values_.size()) - 1;
}

int TileCode::input(DType t, bool scalar) {
  const int v = add_value(t, scalar ? When::Before : When::During);
  values_[v].place = Place::Operand;
  values_[v].index = static_cast<int>(operands_.size());
  operands_.push_back(t);
  return v;
}

int TileCode::emit(Instruction i, DType t, When when) {
  i.out = add_value(t, when);
  code(when).push_back(i);
  return i.out;
}

int TileCode::cast(int x, DType to) {
  if (dtype(x) == to) return x;
  auto [it, fresh] = casts_.try_emplace({x, to}, -1);
  if (fresh) it->second = apply(elementwise::cast_kernel(dtype(x), to), {&x, 1});
  return it->second;
}

int TileCode::apply(const elementwise::Kernel& k, std::span<const int> operands) {
  Instruction i{};
  i.n_in = static_cast<uint8_t>(k.n_in);
  i.op = chain_op(k);
  When when = When::Before;
  bool any_vector = false;
  for (int j = 0; j < k.n_in; ++j) {
    i.in[j] = cast(operands[j], k.in[j]);
    any_vector |= is_vector(i.in[j]);
    when = std::max(when, values_[i.in[j]].when);
  }
  if (any_vector) when = When::During;
  unsigned scalars = 0;
  for (int j = 0; any_vector && j < k.n_in; ++j) {
    if (is_vector(i.in[j])) continue;
    if (k.scalars_allowed >> j & 1)
      scalars |= 1u << j;
    else
      i.in[j] = spread(i.in[j]);
  }
  if (k.n_in == 1) {
    i.unary = k.unary;
  } else if (k.n_in == 2) {
    i.binary = scalars == 0b10 ? k.binary.vs : scalars == 0b01 ? k.binary.sv : k.binary.vv;
  } else {
    const WhereFn fn[4] = {k.where.vv, k.where.sv, k.where.vs, k.where.ss};
    i.where = fn[scalars >> 1];
  }
  return emit(i, k.out, when);
}

int TileCode::spread(int scalar) {
  Instruction i{};
  i.n_in = 1;
  i.in[0] = scalar;
  i.unary = kernels().fill[size_index(dtype(scalar))];
  return emit(i, dtype(scalar), When::During);
}

int TileCode::reduce(ReduceOp op, int x) {
  Instruction i{};
  i.n_in = 1;
  i.in[0] = x;
  i.unary = kernels().reduce[int(op)][int(dtype(x))];
  if (op == ReduceOp::sum && is_chain_dtype(dtype(x))) i.op = ChainOp::sum;
  const DType t = result_dtype(op, dtype(x));
  if (!is_vector(x)) return emit(i, t, values_[x].when);
  i.out = add_value(t, When::After);
  during_.push_back(i);
  reductions_.push_back({op, t, i.out, -1});
  return i.out;
}

// ---- places ----

// Of one kind, taken again as soon as they are free: the last one first, since it is in the cache.
class TileCode::Places {
 public:
  int take() {
    if (free_.empty()) return count_++;
    const int i = free_.back();
    free_.pop_back();
    return i;
  }
  void give(int i) { free_.push_back(i); }
  int count() const { return count_; }

 private:
  std::vector<int> free_;
  int count_ = 0;
};

void TileCode::count_uses() {
  for (const Code* code : {&before_, &during_, &after_})
    for (const Instruction& i : *code)
      for (int j = 0; j < i.n_in; ++j) ++values_[i.in[j]].uses;
}

// A scalar that the loop reads is read for every tile, and so never gives up its cell.
void TileCode::find_last_uses() {
  int position = 0;
  for (const Code* code : {&before_, &during_, &after_})
    for (const Instruction& i : *code) {
      for (int j = 0; j < i.n_in; ++j) {
        Value& v = values_[i.in[j]];
        const bool every_tile = code == &during_ && v.when != When::During;
        v.last_use = every_tile || v.last_use == INT_MAX ? INT_MAX : position;
      }
      ++position;
    }
}

// A kernel may write where it reads.
void TileCode::find_donations() {
  int position = static_cast<int>(before_.size());
  for (const Instruction& i : during_) {
    const Value& result = values_[i.out];
    if (result.place == Place::Result && result.when == When::During)
      for (const Value& v : values_)
        if (v.place == Place::Operand && v.when == When::During && v.dtype == result.dtype &&
            v.last_use >= 0 && v.last_use <= position)
          donations_.push_back({v.index, result.index});
    ++position;
  }
}

void TileCode::place(Code& code, Places& cells, Places& tiles, int position) {
  for (Instruction& i : code) {
    Value& out = values_[i.out];
    auto places = [&](const Value& v) -> Places& { return v.place == Place::Tile ? tiles : cells; };
    // A kernel may write where it reads if the elements are of one size.
    auto give = [&](bool of_one_size) {
      for (int j = 0; j < i.n_in; ++j) {
        Value& v = values_[i.in[j]];
        const bool temporary = v.place == Place::Cell || v.place == Place::Tile;
        const bool same = itemsize(v.dtype) == itemsize(out.dtype);
        if (!temporary || v.last_use != position || same != of_one_size) continue;
        places(v).give(v.index);
        v.last_use = -1;  // an operand may be named twice
      }
    };
    give(true);
    if (out.place == Place::Cell) {
      if (out.when == When::During) out.place = Place::Tile;
      out.index = places(out).take();
    }
    give(false);
    ++position;
  }
}

// At run time: operands, results, cells, tiles.
int TileCode::slot(const Value& v) const {
  int first = 0;
  if (v.place == Place::Operand || v.place == Place::Register) return v.index;
  first += static_cast<int>(operands_.size());
  if (v.place == Place::Result) return first + v.index;
  first += n_results_;
  return v.place == Place::Cell ? first + v.index : first + n_cells_ + v.index;
}

void TileCode::resolve() {
  for (Code* code : {&before_, &during_, &after_})
    for (Instruction& i : *code) {
      for (int j = 0; j < i.n_in; ++j) i.in[j] = slot(values_[i.in[j]]);
      i.out = slot(values_[i.out]);
    }
  for (ChainStep& s : steps_)
    for (int* v : {&s.slot, &s.second})
      if (*v >= 0) *v = slot(values_[*v]);
  for (Reduction& r : reductions_) r.slot = slot(values_[r.value]);
  for (const Value& v : values_) {
    if (v.when != When::During) continue;
    const size_t item = itemsize(v.dtype);
    tile_item_ = std::max(tile_item_, item);
    if (v.place != Place::Tile && v.place != Place::Register) streams_.push_back({slot(v), item});
  }
}

// All that the loop touches for one tile, and what it fetches ahead, is to stay in the L1 cache. A chain
// alone goes through the vectors once: it is enough that tiles stay, in a part of the cache.
void TileCode::choose_tile() {
  constexpr size_t kBudget = 24 * 1024, kSmallest = 256, kLargest = 2048;
  size_t bytes = n_tiles_ * tile_item_ * (is_one_chain() ? 3 : 1);
  for (const Stream& s : streams_) bytes += is_one_chain() ? 0 : 2 * s.item;
  tile_ = std::clamp(kBudget / std::max<size_t>(bytes, 1) / kLine * kLine, kSmallest, kLargest);
}

void TileCode::close(std::span<const int> results) {
  n_results_ = static_cast<int>(results.size());
  for (int k = 0; k < n_results_; ++k) {
    values_[results[k]].place = Place::Result;
    values_[results[k]].index = k;
  }
  loop_size_ = static_cast<int>(during_.size());
  count_uses();
  arrange();
  find_last_uses();
  find_donations();
  find_links();
  find_registers();
  Places cells, tiles;
  int position = 0;
  for (Code* code : {&before_, &during_, &after_}) {
    place(*code, cells, tiles, position);
    position += static_cast<int>(code->size());
  }
  n_cells_ = cells.count();
  n_tiles_ = tiles.count();
  make_chains();
  resolve();
  choose_tile();
}

// ---- running ----

namespace {

// Chains write whole blocks.
size_t tile_bytes(size_t tile, size_t item) { return round_up(tile * item) + kChainBlockBytes; }

}  // namespace

// The memory of one run, and where every slot points.
class TileCode::Run {
 public:
  Run(const TileCode& c, std::span<const Operand> operands, std::span<void* const> results, size_t n)
      : c_(c), operands_(operands), n_(n), tile_(c.tile_for(n, repeated())), scratch_(scratch_bytes()) {
    char* free = scratch_.as<char>() ? scratch_.as<char>() : local_;
    auto take = [&](size_t bytes) { return std::exchange(free, free + bytes); };
    for (const Operand& o : operands) at_.push_back(static_cast<char*>(const_cast<void*>(o.data)));
    for (void* r : results) at_.push_back(static_cast<char*>(r));
    for (int i = 0; i < c.n_cells_; ++i) at_.push_back(free + i * kCellBytes);
    take(round_up(c.n_cells_ * kCellBytes));
    for (int i = 0; i < c.n_tiles_; ++i) at_.push_back(take(tile_bytes(tile_, c.tile_item_)));
    for (int i = 0; n_repeated_ > 0 && i < static_cast<int>(operands.size()); ++i)
      if (operands[i].repeated) repeat(i, take(tile_bytes(tile_, c.tile_item_)));
    trees_ = reinterpret_cast<Tree*>(free);
  }

  void operator()() {
    execute(c_.before_, 1);
    if (n_ <= tile_)
      execute(c_.during_, n_);
    else
      run_tiles();
    execute(c_.after_, 1);
  }

 private:
  bool repeated() {
    for (const Operand& o : operands_) n_repeated_ += o.repeated;
    return n_repeated_ > 0;
  }

  // None where the local buffer will do.
  size_t scratch_bytes() const {
    const size_t tiles = (c_.n_tiles_ + n_repeated_) * tile_bytes(tile_, c_.tile_item_);
    const size_t trees = n_ > tile_ ? c_.reductions_.size() * sizeof(Tree) : 0;
    const size_t bytes = round_up(c_.n_cells_ * kCellBytes) + tiles + trees;
    return bytes <= sizeof local_ ? 0 : bytes;
  }

  void repeat(int operand, char* tile) {
    kernels().fill[size_index(c_.operands_[operand])](at_[operand], tile, tile_);
    at_[operand] = tile;
  }

  void execute(const Instruction& i, size_t n) const {
    char* const* at = at_.begin();
    switch (i.n_in) {
      case 0:
        return i.chain(&c_.steps_[i.in[0]], at, n);
      case 1:
        return i.unary(at[i.in[0]], at[i.out], n);
      case 2:
        return i.binary(at[i.in[0]], at[i.in[1]], at[i.out], n);
      default:
        return i.where(at[i.in[0]], at[i.in[1]], at[i.in[2]], at[i.out], n);
    }
  }
  void execute(const Code& code, size_t n) const {
    for (const Instruction& i : code) execute(i, n);
  }

  // With each kernel a part of the next tile is fetched, so that memory works while the kernels do.
  void execute_and_fetch(const Code& code, size_t n) const {
    for (size_t k = 0; k < code.size(); ++k) {
      for (const Stream& s : moving_) fetch(at_[s.slot] + s.item * tile_, s.item * tile_, k, code.size());
      execute(code[k], n);
    }
  }
  static void fetch(const char* next, size_t bytes, size_t part, size_t parts) {
    const size_t end = bytes * (part + 1) / parts;
    for (size_t at = bytes * part / parts / kLine * kLine; at < end; at += kLine)
      __builtin_prefetch(next + at);
  }

  void find_moving() {
    auto stands_still = [&](int slot) {
      return slot < static_cast<int>(operands_.size()) && operands_[slot].repeated;
    };
    for (const Stream& s : c_.streams_)
      if (!stands_still(s.slot)) moving_.push_back(s);
  }
  // More than the caches hold. What they hold comes fast enough without being asked for.
  bool comes_from_memory() const {
    constexpr size_t kCached = 8 << 20;
    size_t bytes = 0;
    for (const Stream& s : moving_) bytes += s.item * n_;
    return bytes >= kCached;
  }

  void run_tiles() {
    find_moving();
    const bool far = !c_.is_one_chain() && comes_from_memory();  // a chain's accesses are easily foreseen
    SmallVector<char*, 4> totals;
    for (const Reduction& r : c_.reductions_) {
      Tree* tree = new (trees_ + totals.size()) Tree(r.op, r.dtype);
      totals.push_back(std::exchange(at_[r.slot], static_cast<char*>(tree->next())));
    }
    for (size_t done = 0; done < n_; done += tile_) {
      const size_t n = std::min(tile_, n_ - done);
      far ? execute_and_fetch(c_.during_, n) : execute(c_.during_, n);
      for (const Stream& s : moving_) at_[s.slot] += s.item * tile_;
      for (int k = 0; k < totals.size(); ++k) {
        trees_[k].added();
        at_[c_.reductions_[k].slot] = static_cast<char*>(trees_[k].next());
      }
    }
    for (int k = 0; k < totals.size(); ++k) {
      trees_[k].finish(totals[k]);
      at_[c_.reductions_[k].slot] = totals[k];
    }
  }

  const TileCode& c_;
  std::span<const Operand> operands_;
  const size_t n_;
  int n_repeated_ = 0;
  const size_t tile_;
  Scratch scratch_;
  Tree* trees_ = nullptr;
  SmallVector<char*, 48> at_;
  SmallVector<Stream, 16> moving_;
  alignas(kLine) char local_[8192];
};

// A lone kernel needs no tiles; a chain does, for the precision of its sum. Tiles are of nearly one size.
size_t TileCode::tile_for(size_t n, bool any_repeated) const {
  if (n <= tile_ || (loop_size_ == 1 && !any_repeated)) return n;
  const size_t count = (n + tile_ - 1) / tile_;
  return round_up((n + count - 1) / count);
}

void TileCode::run(std::span<const Operand> operands, std::span<void* const> results, size_t n) const {
  Run(*this, operands, results, n)();
}

namespace {

std::string count(size_t n, const char* noun) { return std::to_string(n) + " " + noun + (n == 1 ? "" : "s"); }

}  // namespace

std::string TileCode::listing() const {
  const size_t once = before_.size() + after_.size();
  std::string of_them = once > 0 ? ", " + std::to_string(once) + " of them once" : "";
  const size_t chains = std::count_if(during_.begin(), during_.end(), [](auto& i) { return i.n_in == 0; });
  if (chains > 0)
    of_them +=
        ", " + std::to_string(loop_size_ - (during_.size() - chains)) + " in " + count(chains, "chain");
  return count(size(), "operation") + of_them + "; " + count(n_tiles_, "tile") + " of " +
         std::to_string(tile_);
}

}  // namespace tn
