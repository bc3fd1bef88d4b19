// The part of TileCode that makes chains of its loop.
#include <algorithm>
#include <set>

#include "kernels/fused.h"

namespace tn {
namespace {

constexpr ChainOp with_operands_exchanged(ChainOp op) {
  return op == ChainOp::subtract ? ChainOp::minus : op == ChainOp::divide ? ChainOp::divides : op;
}

}  // namespace

// What the next link can take over in registers.
int TileCode::handed_on(const Instruction& i) { return i.op == ChainOp::sum ? i.in[0] : i.out; }

bool TileCode::can_follow(const Instruction& before, const Instruction& i) const {
  if (!before.op || !i.op || dtype(before.out) != dtype(i.out)) return false;
  const int y = handed_on(before);
  return i.in[0] == y || (i.n_in == 2 && i.in[1] == y);
}

// A product, sum or difference of vectors in memory, read once by an operation on something computed, becomes
// part of that: a link with two operands besides what is handed on to it.
class TileCode::Leaves {
 public:
  Leaves(TileCode& c, Code& code) : c_(c), code_(code), maker_(c.values_.size()) {
    for (Instruction& i : code) maker_[i.out] = &i;
  }

  void operator()() {
    for (Instruction& i : code_)
      if (inner_of(i) != ChainInner::none && i.in[0] != i.in[1]) absorb(i);
    std::erase_if(code_, [&](const Instruction& i) { return maker_[i.out] == nullptr; });
  }

 private:
  static ChainInner inner_of(const Instruction& i) {
    if (i.n_in == 1) return i.op == ChainOp::square ? ChainInner::multiply : ChainInner::none;
    if (i.n_in != 2 || !i.op) return ChainInner::none;
    return i.op == ChainOp::multiply   ? ChainInner::multiply
           : i.op == ChainOp::add      ? ChainInner::add
           : i.op == ChainOp::subtract ? ChainInner::subtract
                                       : ChainInner::none;
  }

  bool is_in_memory(int v) const {
    const Value& x = c_.values_[v];
    return x.place != Place::Cell || x.uses > 1 || (maker_[v] && !maker_[v]->op);
  }
  bool is_leaf(int v) const {
    const Instruction* i = maker_[v];
    if (!i || inner_of(*i) == ChainInner::none || c_.values_[v].uses != 1 || !is_in_memory_or_one(*i))
      return false;
    return c_.values_[v].place == Place::Cell && (c_.is_vector(i->in[0]) || i->op != ChainOp::subtract);
  }
  bool is_in_memory_or_one(const Instruction& i) const {
    return std::all_of(i.in, i.in + i.n_in, [&](int v) { return !c_.is_vector(v) || is_in_memory(v); });
  }

  void absorb(Instruction& i) {
    for (int which : {1, 0}) {
      const int leaf = i.in[which], y = i.in[1 - which];
      if (!maker_[y] || !maker_[y]->op || !is_leaf(leaf)) continue;
      const Instruction& l = *maker_[leaf];
      const int a = l.in[0], b = l.in[l.n_in - 1];
      const bool exchange = !c_.is_vector(a);
      i.in[0] = y;
      i.in[1] = exchange ? b : a;
      i.in[2] = exchange ? a : b;
      i.n_in = 3;
      i.inner = inner_of(l);
      if (which == 0) i.op = with_operands_exchanged(*i.op);
      maker_[leaf] = nullptr;
      c_.values_[leaf].place = Place::Register;
      return;
    }
  }

  TileCode& c_;
  Code& code_;
  std::vector<const Instruction*> maker_;  // of each value
};

// The loop, so that as many instructions as can follow the one whose result they take over; else in the order
// of writing.
class TileCode::Order {
 public:
  Order(const TileCode& c, const Code& code)
      : c_(c), code_(code), waiting_(code.size()), readers_(c.values_.size()) {
    std::vector<bool> made(c.values_.size());
    for (const Instruction& i : code) made[i.out] = true;
    for (size_t k = 0; k < code.size(); ++k)
      for (int j = 0; j < code[k].n_in; ++j) {
        const int v = code[k].in[j];
        readers_[v].push_back(k);
        waiting_[k] += made[v];
      }
    for (size_t k = 0; k < code.size(); ++k)
      if (waiting_[k] == 0) ready_.insert(k);
  }

  Code operator()() {
    Code order;
    while (!ready_.empty()) {
      const size_t k = order.empty() ? *ready_.begin() : next(order.back());
      order.push_back(code_[k]);
      ready_.erase(k);
      for (size_t reader : readers_[code_[k].out])
        if (--waiting_[reader] == 0) ready_.insert(reader);
    }
    return order;
  }

 private:
  // A sum first, since it hands on what it takes over.
  size_t next(const Instruction& before) const {
    size_t best = code_.size();
    for (size_t k : readers_[handed_on(before)]) {
      if (!ready_.contains(k) || !c_.can_follow(before, code_[k])) continue;
      if (code_[k].op == ChainOp::sum) return k;
      best = std::min(best, k);
    }
    return best < code_.size() ? best : *ready_.begin();
  }

  const TileCode& c_;
  const Code& code_;
  std::vector<int> waiting_;
  std::vector<std::vector<size_t>> readers_;  // of each value
  std::set<size_t> ready_;
};

// The loop as chains like it best.
void TileCode::arrange() {
  Leaves(*this, during_)();
  during_ = Order(*this, during_)();
}

// A chain goes on with any instruction of its dtype, also if that takes over nothing: there is one pass over
// memory. It has one sum at most, and an end for compilers that do not make jumps of calls at the end.
void TileCode::find_links() {
  constexpr int kMost = 1024;
  bool summed = false;
  int length = 0;
  for (size_t k = 0; k < during_.size(); ++k) {
    Instruction& i = during_[k];
    const bool sums = i.op == ChainOp::sum;
    i.joined = k > 0 && length < kMost && i.op && during_[k - 1].op &&
               dtype(i.out) == dtype(during_[k - 1].out) && !(sums && summed);
    length = i.joined ? length + 1 : 1;
    i.linked = i.joined && can_follow(during_[k - 1], i);
    summed = sums || (summed && i.joined);
  }
}

// What only the links right after read stays in registers. (x + x reads x once more than is handed on.)
void TileCode::find_registers() {
  for (size_t k = 0; k < during_.size(); ++k) {
    const int y = during_[k].out;
    int uses = 0;
    for (size_t j = k + 1; j < during_.size() && during_[j].linked && handed_on(during_[j - 1]) == y; ++j)
      uses += is_square(during_[j]) ? 2 : 1;
    if (uses > 0 && uses == values_[y].uses && values_[y].place == Place::Cell)
      values_[y].place = Place::Register;
  }
}

bool TileCode::is_square(const Instruction& i) {
  return i.op == ChainOp::multiply && i.n_in == 2 && i.in[0] == i.in[1];
}

// Each link with the operand that is not handed on to it, and with a place for what others read too.
TileCode::Instruction TileCode::chain_of(std::span<const Instruction> links) {
  Instruction chain{};
  chain.chain = kernels().chain[dtype(links[0].out) == DType::F64];
  chain.in[0] = static_cast<int>(steps_.size());
  chain.out = links[0].out;
  auto add = [&](ChainOp op, int v) {
    steps_.push_back({chain_code(op, ChainInner::none, v >= 0 && !is_vector(v)), v, -1});
  };
  int y = -1;
  for (const Instruction& i : links) {
    if (y < 0 || !i.linked) add(ChainOp::load, y = i.in[!is_vector(i.in[0])]);
    if (i.op == ChainOp::sum) {
      steps_.push_back({chain_code(ChainOp::sum), i.out, -1});
      continue;
    }
    const bool second = i.n_in == 2 && i.in[0] != y;
    if (i.inner != ChainInner::none)
      steps_.push_back({chain_code(*i.op, i.inner, !is_vector(i.in[2])), i.in[1], i.in[2]});
    else if (i.n_in == 1 || is_square(i))
      add(i.n_in == 1 ? *i.op : ChainOp::square, -1);
    else
      add(second ? with_operands_exchanged(*i.op) : *i.op, i.in[second ? 0 : 1]);
    y = i.out;
    if (values_[y].place != Place::Register)
      add(values_[y].place == Place::Tile ? ChainOp::keep : ChainOp::store, y);
  }
  add(ChainOp::end, -1);
  return chain;
}

void TileCode::make_chains() {
  Code code;
  const std::span<const Instruction> all = during_;
  for (size_t first = 0, end; first < all.size(); first = end) {
    for (end = first + 1; end < all.size() && all[end].joined;) ++end;
    const bool is_chain = end - first > 1 || all[first].inner != ChainInner::none;
    code.push_back(is_chain ? chain_of(all.subspan(first, end - first)) : all[first]);
  }
  during_ = std::move(code);
}

}  // namespace tn
