// Workspaces: pooled scratch, and the cache of LAPACK's workspace queries.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/pool.h"
#include "providers/call.h"

namespace tn::providers {

// Elements of work (T), rwork (Real<T>) and iwork (room for 64 bits each) of a call.
struct Sizes {
  int64_t work = 0;
  int64_t rwork = 0;
  int64_t iwork = 0;
};

struct QueryKey {
  void* function;  // stands for provider, routine and type
  char job;
  int64_t m, n, k;
  bool operator==(const QueryKey&) const = default;
};
bool find_sizes(const QueryKey& key, Sizes* sizes);
void keep_sizes(const QueryKey& key, const Sizes& sizes);

// The sizes for a key; `ask` queries the library the first time in this process.
template <class Ask>
Sizes sizes_for(const QueryKey& key, Ask ask) {
  Sizes sizes;
  if (find_sizes(key, &sizes)) return sizes;
  sizes = ask();
  keep_sizes(key, sizes);
  return sizes;
}

// The answer of a query comes as a number of the element type: rounded up, since a float cannot hold every
// size.
template <class T>
int64_t answered(T work) {
  using R = Real<T>;
  R size = std::real(work);
  return std::max<int64_t>(1,
                           static_cast<int64_t>(std::ceil(size * (1 + std::numeric_limits<R>::epsilon()))));
}

// The three workspaces of one call in one scratch buffer.
template <class T>
class Workspace {
 public:
  explicit Workspace(Sizes sizes)
      : sizes_(sizes),
        rwork_at_(aligned(sizes.work * sizeof(T))),
        iwork_at_(rwork_at_ + aligned(sizes.rwork * sizeof(Real<T>))),
        scratch_(iwork_at_ + aligned(sizes.iwork * sizeof(int64_t))) {}
  T* work() const { return scratch_.as<T>(); }
  Real<T>* rwork() const { return static_cast<Real<T>*>(at(rwork_at_)); }
  void* iwork() const { return at(iwork_at_); }
  const Sizes& sizes() const { return sizes_; }

 private:
  static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
  void* at(size_t offset) const { return scratch_.as<char>() + offset; }
  Sizes sizes_;
  size_t rwork_at_, iwork_at_;
  Scratch scratch_;
};

}  // namespace tn::providers
