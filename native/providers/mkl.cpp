// Intel MKL through its single dynamic library, libmkl_rt.
#include <dlfcn.h>

#include "providers/provider.h"

namespace tn::providers {
namespace {

constexpr int kLp64 = 0, kIlp64Bit = 1;
enum ThreadingLayer { kIntel = 0, kSequential = 1, kGnu = 3, kTbb = 4 };

bool can_load(const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr; }

class Mkl final : public Provider {
 public:
  Mkl(const std::string& name, Files files, std::string folder) : Provider(name, std::move(files)) {
    int interface = own<int(int)>("MKL_Set_Interface_Layer")(kLp64);
    layer_ = own<int(int)>("MKL_Set_Threading_Layer")(loadable_layer(folder));
    fill(interface >= 0 && (interface & kIlp64Bit));
  }

 private:
  // The layer whose OpenMP runtime is there; MKL ends the process if it has to look for one in vain.
  static int loadable_layer(const std::string& folder) {
    if (can_load(folder + "libiomp5.so")) return kIntel;
    if (can_load("libgomp.so.1")) return kGnu;
    return kSequential;
  }

  const char* kind() const override { return "mkl"; }

  // "Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build ..."
  std::string version() const override {
    char text[256] = {};
    own<void(char*, int)>("MKL_Get_Version_String")(text, sizeof text - 1);
    std::string all = text;
    size_t start = all.find("Version ");
    if (start == std::string::npos) return all;
    start += 8;
    return all.substr(start, all.find_first_of(" -", start) - start);
  }

  std::string kernel() const override {
    auto branch = own<int()>("MKL_CBWR_Get_Auto_Branch");
    constexpr const char* names[] = {"sse2", "sse3", "ssse3",      "sse4_1", "sse4_2",
                                     "avx",  "avx2", "avx512_mic", "avx512"};
    int known = branch ? branch() - 4 : -1;
    return known >= 0 && known < static_cast<int>(std::size(names)) ? names[known] : "";
  }

  std::string threading() const override {
    switch (layer_) {
      case kIntel:
        return "intel openmp";
      case kGnu:
        return "gnu openmp";
      case kTbb:
        return "tbb";
      default:
        return "none";
    }
  }
  int get_threads() const override { return own<int()>("MKL_Get_Max_Threads")(); }
  void set_threads(int threads) override { own<void(int)>("MKL_Set_Num_Threads")(threads); }

  int layer_;
};

}  // namespace

std::unique_ptr<Provider> recognise_mkl(const std::string& name, Files& files) {
  if (!files.front().function<int(int)>("MKL_Set_Interface_Layer")) return nullptr;
  const std::string path = canonical(files.front().path());
  return std::make_unique<Mkl>(name, std::move(files), path.substr(0, path.rfind('/') + 1));
}

}  // namespace tn::providers
