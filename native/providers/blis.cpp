// BLIS for BLAS, with a LAPACK library in a second file.
#include <algorithm>
#include <limits>

#include "providers/provider.h"

namespace tn::providers {
namespace {

class Blis final : public Provider {
 public:
  Blis(const std::string& name, Files files) : Provider(name, std::move(files)) {
    auto integer_bits = own<int64_t()>("bli_info_get_blas_int_type_size");
    integer_bits ? fill(integer_bits() == 64) : fill();
  }

 private:
  const char* kind() const override { return "blis"; }
  std::string version() const override { return own<const char*()>("bli_info_get_version_str")(); }
  std::string kernel() const override {
    auto id = own<int()>("bli_arch_query_id");
    auto text = own<const char*(int)>("bli_arch_string");
    return id && text ? text(id()) : "";
  }
  std::string threading() const override {
    if (asked("bli_info_get_enable_openmp")) return "openmp";
    return asked("bli_info_get_enable_pthreads") ? "pthreads" : "none";
  }
  int get_threads() const override { return std::max(1, chosen_threads()); }
  // Not chosen (-1), BLIS uses one thread; it may use the budget.
  int preferred_threads() const override {
    return chosen_threads() > 0 ? chosen_threads() : std::numeric_limits<int>::max();
  }
  void set_threads(int threads) override { own<void(int64_t)>("bli_thread_set_num_threads")(threads); }
  int chosen_threads() const { return static_cast<int>(own<int64_t()>("bli_thread_get_num_threads")()); }

  bool asked(const char* name) const {
    auto question = own<int64_t()>(name);
    return question && question();
  }
};

}  // namespace

std::unique_ptr<Provider> recognise_blis(const std::string& name, Files& files) {
  if (files.front().function<const char*()>("bli_info_get_version_str"))
    return std::make_unique<Blis>(name, std::move(files));
  return nullptr;
}

}  // namespace tn::providers
