#include "program/branches.h"

#include <algorithm>
#include <set>

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
  return serve(*branch_for(c.attrs.scalar(side), operands), operands).outs;
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
  Ref<Executable> chosen = branch_for(c.attrs.scalar(side), c.in.subspan(1));
  Tensor results[kMaxOutputs];
  chosen->program.run(c.in.data() + 1, {}, results);
  for (int j = 0; j < chosen->n_out(); ++j)
    if (c.wants(j)) out[j] = std::move(results[j]);
}

// Looks at each branch once.
class Count {
 public:
  size_t variants = 0;

  void executable(const Executable& e) {
    for (const Step& s : e.program.steps())
      if (s.primitive == registered)
        for (int side : {0, 1}) branch(s.attrs->scalar(side));
    for (const auto* derivations : {&e.pullbacks, &e.pushforwards})
      for (const std::shared_ptr<Derived>& d : *derivations)
        for (const Ref<Executable>& part : {d->forward, d->backward})
          if (part) executable(*part);
  }

 private:
  void branch(int64_t id) {
    if (!seen_.insert(id).second) return;
    variants += branches()[id].variants.size();
    for (const Ref<Executable>& v : branches()[id].variants) executable(*v);
  }
  std::set<int64_t> seen_;
};

}  // namespace

int add_branch(Branch branch) {
  branches().push_back(std::move(branch));
  return static_cast<int>(branches().size()) - 1;
}

Ref<Executable> branch_for(int64_t id, Operands operands) {
  if (id < 0 || id >= static_cast<int64_t>(branches().size()))
    fail(ErrorKind::Value, "cond: there is no branch ", id, " in this process.");
  Branch& b = branches()[id];
  for (auto v = b.variants.begin(); v != b.variants.end(); ++v) {
    if (!takes(**v, operands)) continue;
    std::rotate(b.variants.begin(), v, v + 1);
    return b.variants.front();
  }
  if (!b.recipe) fail(ErrorKind::Value, "cond: a branch was traced for operands of other shapes.");
  Ref<Executable> made = make_variant(b.recipe.get(), operands);
  if (b.variants.size() >= Branch::kMost) b.variants.pop_back();
  b.variants.insert(b.variants.begin(), made);
  return made;
}

size_t count_variants(std::span<const Ref<Executable>> executables) {
  Count count;
  for (const Ref<Executable>& e : executables) count.executable(*e);
  return count.variants;
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
