#include "program/branches.h"

namespace tn {

Ref<Executable> (*make_variant)(void* recipe, std::span<const Tensor* const> operands) = nullptr;

namespace {

using Operands = std::span<const Tensor* const>;

const Primitive* registered = nullptr;

std::deque<Branch>& branches() {
  static auto& all = *new std::deque<Branch>;
  return all;
}

const Served& serve(Executable& e, Operands operands) {
  SmallVector<const Dims*, 16> shapes;
  for (const Tensor* t : operands) shapes.push_back(&t->shape());
  return e.sizes.serve(shapes);
}

bool takes(Executable& e, Operands operands) {
  if (static_cast<int>(operands.size()) != e.sizes.traced().n_inputs) return false;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i]->dtype != e.sizes.traced().registers[i].dtype) return false;
  return serve(e, operands).ok;
}

// ---- cond: operands (pred, operands of the branches); attrs true, false; as many outputs as they have

void require_pred(const Tensor& pred) {
  if (pred.dtype != DType::Bool)
    fail(ErrorKind::Type, "cond: pred must be of dtype bool, got ", name(pred.dtype), ".");
  if (pred.numel() != 1)
    fail(ErrorKind::Value, "cond: pred must have one element, got shape ", show(pred.shape()), ".");
}

std::vector<Meta> outputs_of(const Call& c, int side) {
  Operands operands = c.in.subspan(1);
  return serve(branch_for(c.attrs.scalar(side), operands), operands).outs;
}

void infer_cond(const Call& c, Meta* out) {
  require_pred(*c.in[0]);
  std::vector<Meta> a = outputs_of(c, 0), b = outputs_of(c, 1);
  if (a.size() != b.size())
    fail(ErrorKind::Value, "cond: true_fn returns ", a.size(), " tensors, false_fn ", b.size(), ".");
  for (size_t j = 0; j < a.size(); ++j)
    if (a[j].dtype != b[j].dtype || !(a[j].shape == b[j].shape))
      fail(ErrorKind::Value, "cond: output ", j, " is of ", name(a[j].dtype), show(a[j].shape),
           " from true_fn, and of ", name(b[j].dtype), show(b[j].shape), " from false_fn.");
  for (size_t j = 0; j < kMaxOutputs; ++j) out[j] = j < a.size() ? a[j] : Meta{DType::Bool, Dims{}};
}

void run_cond(const Call& c, Tensor* out) {
  require_pred(*c.in[0]);
  int side = *c.in[0]->as<bool>() ? 0 : 1;
  Ref<Executable> chosen(&branch_for(c.attrs.scalar(side), c.in.subspan(1)));
  Tensor results[kMaxOutputs];
  chosen->program.run(c.in.data() + 1, {}, results);
  for (int j = 0; j < chosen->n_out(); ++j)
    if (c.wants(j)) out[j] = std::move(results[j]);
}

}  // namespace

int add_branch(Branch branch) {
  branches().push_back(std::move(branch));
  return static_cast<int>(branches().size()) - 1;
}

Executable& branch_for(int64_t id, Operands operands) {
  if (id < 0 || id >= static_cast<int64_t>(branches().size()))
    fail(ErrorKind::Value, "cond: there is no branch ", id, " in this process.");
  Branch& b = branches()[id];
  for (const Ref<Executable>& e : b.variants)
    if (takes(*e, operands)) return *e;
  if (!b.recipe) fail(ErrorKind::Value, "cond: a branch was traced for operands of other shapes.");
  Ref<Executable> made = make_variant(b.recipe.get(), operands);
  b.variants.push_back(made);
  return *made;
}

void forget_branches() { branches().clear(); }

const Primitive& cond_primitive() { return *registered; }

bool has_effect(const Primitive& p, const Attrs& attrs) {
  if (&p != registered) return p.is(kEffect);
  auto acts = [](const Step& s) { return has_effect(*s.primitive, *s.attrs); };
  auto any = [&](int64_t id) {
    const auto& steps = branches()[id].variants[0]->program.steps();
    return std::any_of(steps.begin(), steps.end(), acts);
  };
  return any(attrs.scalar(0)) || any(attrs.scalar(1));
}

void register_branches() {
  registered = &register_primitive({"cond", -1, kMaxOutputs, infer_cond, run_cond});
}

}  // namespace tn
