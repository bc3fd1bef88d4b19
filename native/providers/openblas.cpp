// OpenBLAS: the scipy-openblas wheels, NumPy's bundled copy, and distributions' builds.
#include "providers/provider.h"

namespace tn::providers {
namespace {

class OpenBlas final : public Provider {
 public:
  OpenBlas(const std::string& name, Files files) : Provider(name, std::move(files)) { fill(); }

 private:
  const char* kind() const override { return "openblas"; }

  // "OpenBLAS 0.3.34 NO_LAPACKE DYNAMIC_ARCH Haswell MAX_THREADS=64"
  std::string version() const override {
    std::string config = own<char*()>("openblas_get_config")();
    size_t start = config.find(' ') + 1;
    return config.substr(start, config.find(' ', start) - start);
  }
  std::string kernel() const override {
    auto corename = own<char*()>("openblas_get_corename");
    return corename ? corename() : "";
  }
  std::string threading() const override {
    auto parallel = own<int()>("openblas_get_parallel");
    constexpr const char* layers[] = {"none", "pthreads", "openmp"};
    return layers[parallel ? parallel() : 0];
  }
  int get_threads() const override { return own<int()>("openblas_get_num_threads")(); }
  void set_threads(int threads) override { own<void(int)>("openblas_set_num_threads")(threads); }
};

}  // namespace

std::unique_ptr<Provider> recognise_openblas(const std::string& name, Files& files) {
  if (files.front().function<char*()>("openblas_get_config"))
    return std::make_unique<OpenBlas>(name, std::move(files));
  return nullptr;
}

}  // namespace tn::providers
