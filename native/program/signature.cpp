#include "program/signature.h"

#include "core/error.h"

namespace tn {
namespace {

constexpr size_t kMaxKnown = 4096;  // shapes remembered

class Replay {
  // A size that is not computed from others.
  struct Leaf {
    const Graph& g;
    const std::vector<Meta>& at;
    int64_t operator()(int expr) const {
      const SizeExpr& e = g.sizes[expr];
      if (e.op == SizeExpr::Op::Input) fail(ErrorKind::Runtime, "a traced function has no size inputs.");
      return e.op == SizeExpr::Op::Const ? e.a : at[e.a].shape[static_cast<int>(e.b)];
    }
  };

 public:
  Replay(const Graph& g, std::vector<Meta>& registers)
      : g_(g), at_(registers), tensors_(registers.size()), size_(g.sizes, Leaf{g, registers}) {}

  bool run() {
    for (int r = 0; r < g_.n_inputs; ++r) refresh(r);
    for (const auto& [reg, value] : g_.constants) refresh(reg);
    for (const Instruction& i : g_.instructions)
      if (!infer(i)) return false;
    return std::all_of(g_.guards.begin(), g_.guards.end(), [this](const Guard& g) {
      return holds(g.relation, size_(g.lhs), size_(g.rhs)) == g.holds;
    });
  }

 private:
  // A tensor without data, as inference wants it.
  void refresh(int reg) {
    tensors_[reg].dtype = at_[reg].dtype;
    tensors_[reg].layout = Layout::c_contiguous(at_[reg].shape);
  }

  bool infer(const Instruction& i) {
    SmallVector<const Tensor*, 8> in;
    for (int r : i.in) in.push_back(&tensors_[r]);
    SmallVector<int64_t, 8> sizes;
    for (int s : i.sizes) sizes.push_back(size_(s));
    Meta outs[kMaxOutputs];
    i.primitive->infer(Call{in, *i.attrs, sizes, i.mask}, outs);
    for (int j = 0; j < i.primitive->n_out; ++j) {
      at_[i.out + j] = outs[j];
      refresh(i.out + j);
    }
    return !i.primitive->is(kElementwise) || broadcasts_alike(i);
  }

  // An axis of size 1 is broadcast where the result is longer.
  static bool broadcast(const Dims& operand, const Dims& result, int axis) {
    return operand[axis] == 1 && result[axis + result.size() - operand.size()] != 1;
  }

  bool broadcasts_alike(const Instruction& i) const {
    const Dims& was = g_.registers[i.out].shape;
    const Dims& is = at_[i.out].shape;
    for (int r : i.in)
      for (int axis = 0; axis < at_[r].shape.size(); ++axis)
        if (broadcast(g_.registers[r].shape, was, axis) != broadcast(at_[r].shape, is, axis)) return false;
    return true;
  }

  const Graph& g_;
  std::vector<Meta>& at_;
  std::vector<Tensor> tensors_;
  SizeValues<Leaf> size_;
};

}  // namespace

bool serves(const Graph& g, std::span<const Dims* const> inputs, std::vector<Meta>& registers) {
  if (inputs.size() != static_cast<size_t>(g.n_inputs)) return false;
  registers = g.registers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->size() != registers[i].shape.size()) return false;
    registers[i].shape = *inputs[i];
  }
  try {
    return Replay(g, registers).run();
  } catch (const Error&) {
    return false;
  }
}

const Served& Signature::serve(std::span<const Dims* const> shapes) {
  shapes_.clear();
  for (const Dims* d : shapes) {
    shapes_.push_back(d->size());
    shapes_.insert(shapes_.end(), d->begin(), d->end());
  }
  if (last_ && shapes_ == last_shapes_) return *last_;
  std::string key(reinterpret_cast<const char*>(shapes_.data()), shapes_.size() * sizeof(int64_t));
  auto it = known_.find(key);
  if (it == known_.end()) {
    std::vector<Meta> registers;
    Served served{serves(*traced_, shapes, registers), {}};
    for (int r : outputs_)
      if (served.ok && r >= 0) served.outs.push_back(registers[r]);
    if (known_.size() >= kMaxKnown) known_.clear();
    it = known_.emplace(std::move(key), std::move(served)).first;
  }
  last_shapes_ = shapes_;
  return *(last_ = &it->second);
}

}  // namespace tn
