#include "program/tiles.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "core/error.h"
#include "core/small_vector.h"
#include "kernels/block.h"
#include "kernels/copy.h"
#include "primitives/tile_kernels.h"

namespace tn {

// ---- compiling ----

class TileGroup::Compiler {
 public:
  Compiler(TileGroup& group, std::span<const Step> steps, size_t first, std::span<const Meta> registers,
           std::span<const SizeExpr> sizes)
      : g_(group), code_(group.code_), steps_(steps), first_(first), registers_(registers), sizes_(sizes) {}

  void run() {
    while (first_ + g_.n_steps_ < steps_.size() && add(steps_[first_ + g_.n_steps_])) ++g_.n_steps_;
    if (g_.n_steps_ == 0) return;
    find_outputs();
    std::vector<int> values;
    for (const Result& r : g_.results_) values.push_back(r.value);
    code_.close(values);
    find_donations();
  }

 private:
  // What the group knows of a register. A scalar of the code may stand for a tensor of the common shape.
  struct Known {
    int value = -1;  // of the code; none if only the shape matters
    bool scalar = false;
    bool broadcast = false;  // nothing but a scalar that was broadcast
  };

  const Meta& meta(int reg) const { return registers_[reg]; }
  bool is_scalar(int reg) const { return meta(reg).shape.empty(); }
  const Known* find(int reg) const {
    auto it = known_.find(reg);
    return it == known_.end() ? nullptr : &it->second;
  }

  // ---- conditions

  // Of the common shape, as far as the trace shows.
  bool fits(int reg) const { return is_scalar(reg) || !shape_ || meta(reg).shape == *shape_; }
  bool is_late(int reg) const {
    const Known* k = find(reg);
    return k && k->value >= 0 && code_.is_late(k->value);
  }
  bool is_vector(int reg) const {
    const Known* k = find(reg);
    return k && k->value >= 0 ? code_.is_vector(k->value) : !is_scalar(reg);
  }
  // What depends on a reduction of this group cannot meet a vector in the same loop.
  bool in_time(const std::vector<int>& in) const {
    auto vector = [&](int r) { return is_vector(r); };
    auto late = [&](int r) { return is_late(r); };
    return std::none_of(in.begin(), in.end(), vector) || std::none_of(in.begin(), in.end(), late);
  }
  bool set_shape(const Dims& shape) {
    if (shape.empty()) return true;
    if (!shape_) shape_ = shape;
    return shape == *shape_;
  }

  // ---- operands

  int add_input(int reg) {
    g_.input_registers_.push_back(reg);
    g_.inputs_.push_back({meta(reg).dtype, is_scalar(reg)});
    known_[reg] = {-1, is_scalar(reg), false};
    return static_cast<int>(g_.inputs_.size()) - 1;
  }
  int input_of(int reg) const {
    const auto& r = g_.input_registers_;
    auto at = std::find(r.begin(), r.end(), reg);
    return at == r.end() ? -1 : static_cast<int>(at - r.begin());
  }

  int value(int reg) {
    const Known* k = find(reg);
    if (k && k->value >= 0) return k->value;
    Input& input = g_.inputs_[k ? input_of(reg) : add_input(reg)];
    const int v = code_.input(input.dtype, input.scalar);
    input.operand = g_.n_operands_++;
    return known_[reg].value = v;
  }
  void need_shape(int reg) {
    if (!find(reg)) add_input(reg);
  }

  // The sizes are those of the common shape: dimensions of registers that have it, or numbers to be compared.
  bool is_common_shape(const std::vector<int>& sizes) {
    if (static_cast<int>(sizes.size()) != shape_->size() || !is_witnessed(sizes)) return false;
    for (int axis = 0; axis < shape_->size(); ++axis) {
      const SizeExpr& e = sizes_[sizes[axis]];
      const int reg = static_cast<int>(e.a);
      if (e.op == SizeExpr::Op::Const && e.a == (*shape_)[axis]) continue;
      if (e.op != SizeExpr::Op::Dim || e.b != axis || is_scalar(reg) || !(meta(reg).shape == *shape_))
        return false;
    }
    for (int axis = 0; axis < shape_->size(); ++axis) {
      const SizeExpr& e = sizes_[sizes[axis]];
      if (e.op == SizeExpr::Op::Const)
        g_.fixed_sizes_.push_back({axis, e.a});
      else
        need_shape(static_cast<int>(e.a));
    }
    return true;
  }

  // Some register from outside has that shape.
  bool is_witnessed(const std::vector<int>& sizes) const {
    return std::any_of(g_.inputs_.begin(), g_.inputs_.end(), [](const Input& i) { return !i.scalar; }) ||
           std::any_of(sizes.begin(), sizes.end(), [&](int e) { return sizes_[e].op == SizeExpr::Op::Dim; });
  }

  // ---- steps

  bool add(const Step& s) {
    if (s.primitive->n_out != 1 || s.in.empty()) return false;
    if (s.primitive->is(kElementwise)) return add_elementwise(s);
    if (s.shape_only || !fits(s.in[0])) return false;
    if (is("stop_gradient", s)) return set_shape(meta(s.in[0]).shape) && same(s);
    if (auto op = reduction_of(*s.primitive))
      return s.attrs->list(0).size() == static_cast<size_t>(meta(s.in[0]).shape.size()) &&
             add_reduction(s, *op);
    if (is("sum_to", s))
      return s.sizes.empty() && !is_scalar(s.in[0]) ? add_reduction(s, ReduceOp::sum) : alias(s);
    if (is("full", s) || is("broadcast_in_dim", s)) return is_scalar(s.in[0]) ? add_broadcast(s) : alias(s);
    return false;
  }
  static bool is(const char* name, const Step& s) { return std::strcmp(s.primitive->name, name) == 0; }

  // None for what looks at its operands before it computes.
  std::optional<elementwise::Kernel> kernel_of(const Step& s) const {
    SmallVector<DType, 3> dtypes;
    for (int r : s.in) dtypes.push_back(meta(r).dtype);
    return tile_kernel(*s.primitive, *s.attrs, dtypes);
  }

  bool add_elementwise(const Step& s) {
    const Dims& shape = meta(s.out).shape;
    auto same = [&](int r) { return is_scalar(r) || meta(r).shape == shape; };
    if (!std::all_of(s.in.begin(), s.in.end(), same) || !in_time(s.in)) return false;
    if (s.shape_only) {
      if (!set_shape(shape)) return false;
      for (int r : s.in)
        if (!is_scalar(r)) need_shape(r);
      return know(s.out, -1);
    }
    const auto kernel = kernel_of(s);
    if (!kernel || !set_shape(shape)) return false;
    SmallVector<int, 3> operands;
    for (int r : s.in) operands.push_back(value(r));
    const bool copies = kernel->n_in == 1 && kernel->out == meta(s.in[0]).dtype &&
                        kernel->unary == kernels().cast[int(kernel->out)][int(kernel->out)];
    return know(s.out, copies ? operands[0] : code_.apply(*kernel, operands));
  }

  bool add_reduction(const Step& s, ReduceOp op) {
    const int reg = s.in[0];
    if ((!is_scalar(reg) && is_late(reg)) || !set_shape(meta(reg).shape)) return false;
    int x = value(reg);
    if (!is_scalar(reg) && !code_.is_vector(x)) x = code_.spread(x);
    return know(s.out, code_.reduce(op, x));
  }

  bool add_broadcast(const Step& s) {
    if (s.sizes.empty()) return alias(s);
    if (!set_shape(meta(s.out).shape) || !is_common_shape(s.sizes)) return false;
    know(s.out, value(s.in[0]));
    return known_[s.out].broadcast = true;
  }

  // The operand itself.
  bool alias(const Step& s) {
    const int reg = s.in[0];
    if (!is_scalar(reg) && !(set_shape(meta(reg).shape) && is_common_shape(s.sizes))) return false;
    if (is_scalar(reg) && !s.sizes.empty()) return false;
    return same(s);
  }

  bool same(const Step& s) {
    const bool broadcast = find(s.in[0]) && find(s.in[0])->broadcast;
    know(s.out, value(s.in[0]));
    known_[s.out].broadcast = broadcast;
    return true;
  }

  bool know(int reg, int value) {
    known_[reg] = {value, is_scalar(reg), false};
    made_.push_back(reg);
    return true;
  }

  // ---- outputs

  std::span<const Step> members() const { return steps_.subspan(first_, g_.n_steps_); }
  std::span<const Step> rest() const { return steps_.subspan(first_ + g_.n_steps_); }

  void find_outputs() {
    std::vector<int> dead;
    for (const Step& s : members()) dead.insert(dead.end(), s.dies.begin(), s.dies.end());
    std::sort(dead.begin(), dead.end());
    std::vector<int> made = made_;
    std::sort(made.begin(), made.end());
    std::set_difference(dead.begin(), dead.end(), made.begin(), made.end(), std::back_inserter(g_.dies_));
    for (int k = 0; k < g_.n_steps_; ++k)
      if (!std::binary_search(dead.begin(), dead.end(), made_[k])) add_output(k);
  }

  void add_output(int step) {
    const int reg = made_[step];
    const Known k = known_[reg];
    using Kind = Output::Kind;
    g_.output_registers_.push_back(reg);
    g_.output_steps_.push_back(step);
    Output out{Kind::Result, meta(reg).dtype, k.scalar};
    if (k.value < 0 || !is_read_later(reg))
      out.kind = Kind::Shape;
    else if (k.scalar || code_.is_vector(k.value))
      out.source = own_result(k.value, k.scalar);
    else {
      out.kind = k.broadcast ? Kind::Repeated : Kind::Filled;
      out.source = source(k.value);
    }
    g_.outputs_.push_back(out);
  }

  // Of inputs that nobody reads after the group.
  void find_donations() {
    for (const TileCode::Donation& d : code_.donations())
      for (size_t i = 0; i < g_.inputs_.size(); ++i)
        if (g_.inputs_[i].operand == d.operand &&
            std::find(g_.dies_.begin(), g_.dies_.end(), g_.input_registers_[i]) != g_.dies_.end())
          g_.donations_.push_back({static_cast<int>(i), d.result});
  }

  // By value, not only by its shape.
  bool is_read_later(int reg) const {
    for (const Step& s : rest()) {
      for (size_t i = 0; i < s.in.size() && !s.shape_only; ++i)
        if (s.in[i] == reg && !(i < 32 && s.primitive->shape_only >> i & 1)) return true;
      if (std::find(s.dies.begin(), s.dies.end(), reg) != s.dies.end()) return false;
    }
    return true;
  }

  // A result of its own: a value that is an operand, or a result already, is copied.
  int own_result(int v, bool scalar) {
    const int own = is_input_value(v) || result_of(v) >= 0 ? code_.copy(v) : v;
    return add_result(own, scalar, static_cast<int>(g_.outputs_.size()));
  }
  // A scalar that others are made of: a result, or ~i for input i.
  int source(int v) {
    for (size_t i = 0; i < g_.inputs_.size(); ++i)
      if (known_[g_.input_registers_[i]].value == v) return ~static_cast<int>(i);
    const int at = result_of(v);
    return at >= 0 ? at : add_result(v, true, -1);
  }
  int result_of(int v) const {
    const auto& r = g_.results_;
    auto at = std::find_if(r.begin(), r.end(), [&](const Result& x) { return x.value == v; });
    return at == r.end() ? -1 : static_cast<int>(at - r.begin());
  }
  int add_result(int v, bool scalar, int output) {
    g_.results_.push_back({v, output, code_.dtype(v), scalar});
    return static_cast<int>(g_.results_.size()) - 1;
  }
  bool is_input_value(int v) const {
    return std::any_of(g_.input_registers_.begin(), g_.input_registers_.end(),
                       [&](int reg) { return known_.at(reg).value == v; });
  }

  TileGroup& g_;
  TileCode& code_;
  std::span<const Step> steps_;
  size_t first_;
  std::span<const Meta> registers_;
  std::span<const SizeExpr> sizes_;
  std::optional<Dims> shape_;  // the common one, in the trace
  std::unordered_map<int, Known> known_;
  std::vector<int> made_;  // by each step
};

std::unique_ptr<TileGroup> TileGroup::compile(std::span<const Step> steps, size_t first,
                                              std::span<const Meta> registers,
                                              std::span<const SizeExpr> sizes) {
  auto group = std::make_unique<TileGroup>();
  Compiler(*group, steps, first, registers, sizes).run();
  const bool worthwhile = group->n_steps_ > 1 || (group->n_steps_ == 1 && !group->donations_.empty());
  return worthwhile ? std::move(group) : nullptr;
}

std::string TileGroup::listing() const {
  return std::to_string(n_steps_) + " steps, tile by tile: " + code_.listing();
}

// ---- running ----

namespace {

bool same_strides(const Layout& a, const Layout& b) {
  for (int i = 0; i < a.ndim(); ++i)
    if (a.strides[i] != b.strides[i] && a.shape[i] != 1) return false;
  return true;
}

bool repeats_one(const Layout& l) {
  return std::all_of(l.strides.begin(), l.strides.end(), [](int64_t s) { return s == 0; });
}

}  // namespace

// The tensors that a run reads, and the layout that its results have.
class TileGroup::Operands {
 public:
  Operands(const TileGroup& g, std::span<const Tensor* const> in) {
    data_.resize(g.n_operands_);
    fits_ = true;
    for (size_t i = 0; i < in.size() && fits_; ++i) fits_ = take(g.inputs_[i], *in[i]);
    if (!fits_ || !shaped_) return;
    for (const FixedSize& f : g.fixed_sizes_) fits_ &= shaped_->shape[f.axis] == f.size;
    if (!dense_) row_major_ = Layout::c_contiguous(shaped_->shape);
  }
  bool fits() const { return fits_ && numel() > 0; }
  std::span<const TileCode::Operand> data() const { return data_; }
  const Layout& layout() const { return dense_ ? *dense_ : row_major_; }
  int64_t numel() const { return shaped_ ? shaped_->numel() : 1; }

 private:
  bool take(const Input& want, const Tensor& t) {
    if (t.dtype != want.dtype || want.scalar != (t.ndim() == 0)) return false;
    bool repeats = false;
    if (!want.scalar) {
      if (shaped_ && !(t.shape() == shaped_->shape)) return false;
      if (!shaped_) shaped_ = &t.layout;
      repeats = repeats_one(t.layout);
      if (want.operand >= 0 && !repeats && !take_layout(t.layout)) return false;
    }
    if (want.operand >= 0) data_[want.operand] = {t.data, repeats};
    return true;
  }
  bool take_layout(const Layout& l) {
    if (dense_) return same_strides(l, *dense_);
    dense_ = &l;
    return l.is_dense();
  }

  bool fits_;
  const Layout* shaped_ = nullptr;  // of the first that is no scalar
  const Layout* dense_ = nullptr;   // of the first that is no scalar and is read
  Layout row_major_;
  SmallVector<TileCode::Operand, 16> data_;
};

// Where the code writes: outputs, and scalars that outputs are made of.
class TileGroup::Results {
 public:
  Results(const TileGroup& g, std::span<const Tensor* const> inputs, Tensor* const* outputs,
          const Layout& common) {
    extra_.reserve(static_cast<int>(g.results_.size()));
    for (size_t k = 0; k < g.results_.size(); ++k) {
      const Result& r = g.results_[k];
      Tensor& t = r.output < 0 ? extra_.emplace_back() : *outputs[r.output];
      if (!take_over(g, static_cast<int>(k), inputs, common, t))
        t = r.scalar ? empty(r.dtype, Dims{}) : empty(r.dtype, common);
      tensors_.push_back(&t);
      data_.push_back(t.data);
    }
  }
  std::span<void* const> data() const { return data_; }
  const Tensor& operator[](int k) const { return *tensors_[k]; }

 private:
  // The storage then belongs to both until the group is over; that it is unique now makes this the last time.
  static bool take_over(const TileGroup& g, int result, std::span<const Tensor* const> inputs,
                        const Layout& common, Tensor& t) {
    for (const Donation& d : g.donations_) {
      const Tensor& donor = *inputs[d.input];
      if (d.result != result || !donor.storage.unique() || donor.storage->readonly ||
          !same_strides(donor.layout, common))
        continue;
      t = donor;
      ++t.storage->version;
      return true;
    }
    return false;
  }

  SmallVector<const Tensor*, 8> tensors_;
  SmallVector<void*, 8> data_;
  SmallVector<Tensor, 1> extra_;
};

Tensor TileGroup::spread(const Output& o, const Tensor& scalar, const Layout& common) {
  if (o.kind == Output::Kind::Repeated) return view(scalar, {common.shape, Dims(common.ndim(), 0)});
  Tensor t = empty(o.dtype, common);
  fill(t, scalar.data);
  return t;
}

Tensor TileGroup::shape_of(const Output& o, const Layout& common) {
  Tensor t;
  t.dtype = o.dtype;
  if (!o.scalar) t.layout = Layout::c_contiguous(common.shape);
  return t;
}

bool TileGroup::run(std::span<const Tensor* const> inputs, Tensor* const* outputs) const {
  // Below this, setting up a run costs more than what it saves.
  constexpr int kFewSteps = 3;
  constexpr int64_t kFewElements = 64;
  auto is_small = [](const Tensor* t) { return t->numel() <= kFewElements; };
  if (n_steps_ <= kFewSteps && std::all_of(inputs.begin(), inputs.end(), is_small)) return false;
  const Operands operands(*this, inputs);
  if (!operands.fits()) return false;
  const Results results(*this, inputs, outputs, operands.layout());
  {
    Unlocked unlocked(operands.numel() * code_.loop_size() >= kWorthUnlocking);
    code_.run(operands.data(), results.data(), operands.numel());
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& o = outputs_[i];
    if (o.kind == Output::Kind::Result) continue;
    if (o.kind == Output::Kind::Shape)
      *outputs[i] = shape_of(o, operands.layout());
    else
      *outputs[i] = spread(o, o.source >= 0 ? results[o.source] : *inputs[~o.source], operands.layout());
  }
  return true;
}

}  // namespace tn
