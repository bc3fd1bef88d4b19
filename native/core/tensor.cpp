#include "core/tensor.h"

#include <complex>
#include <new>

#include "core/error.h"
#include "core/visit.h"

namespace tn {

LockHooks lock_hooks;

namespace {
constexpr size_t kHeader = 64;
static_assert(sizeof(Storage) <= kHeader);
}  // namespace

Ref<Storage> Storage::allocate(size_t bytes) {
  auto* block = static_cast<char*>(pool::take(kHeader + bytes));
  auto* s = new (block) Storage;
  s->bytes = bytes;
  s->data = block + kHeader;
  return Ref<Storage>(s);
}

Ref<Storage> Storage::foreign(void* data, size_t bytes, bool readonly, void* owner, void (*release)(void*)) {
  auto* s = new (pool::take(kHeader)) Storage;
  s->bytes = bytes;
  s->data = static_cast<char*>(data);
  s->readonly = readonly;
  s->owner = owner;
  s->release = release;
  return Ref<Storage>(s);
}

void Storage::destroy(Storage* s) {
  if (s->release) {
    s->release(s->owner);
    pool::give(s, kHeader);
  } else {
    pool::give(s, kHeader + s->bytes);
  }
}

Tensor empty(DType dtype, const Layout& dense) {
  Tensor t;
  t.storage = Storage::allocate(static_cast<size_t>(dense.numel()) * itemsize(dtype));
  t.data = t.storage->data;
  t.layout = dense;
  t.dtype = dtype;
  return t;
}

Tensor empty(DType dtype, std::span<const int64_t> shape) {
  return empty(dtype, Layout::c_contiguous(shape));
}

Tensor scalar(DType dtype, double value) {
  Tensor t = empty(dtype, Dims{});
  visit(dtype, [&]<class T>(Type<T>) { *t.as<T>() = static_cast<T>(value); });
  return t;
}

Tensor view(const Tensor& of, Layout layout, int64_t offset) {
  Tensor t;
  t.storage = of.storage;
  t.data = of.data ? of.data + offset * static_cast<int64_t>(itemsize(of.dtype)) : nullptr;
  t.layout = std::move(layout);
  t.dtype = of.dtype;
  return t;
}

Tensor broadcast_view(const Tensor& of, std::span<const int64_t> shape) {
  return view(of, Layout{Dims(shape), broadcast_strides(of.layout, shape)});
}

}  // namespace tn
