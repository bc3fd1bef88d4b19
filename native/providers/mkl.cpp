// Intel MKL through its single dynamic library, libmkl_rt.
#include <dlfcn.h>
#include <link.h>

#include "providers/provider.h"

namespace tn::providers {
namespace {

constexpr int kLp64 = 0, kIlp64Bit = 1;
enum ThreadingLayer { kIntel = 0, kSequential = 1, kGnu = 3, kTbb = 4 };

// Keeps "avx2" when the object is a library of kernels.
int note_kernel(dl_phdr_info* object, size_t, void* found) {
  const std::string path = object->dlpi_name;
  for (const char* kernel : {"avx10", "avx512_mic", "avx512", "avx2", "avx", "mc3", "mc", "def"})
    if (path.find(std::string("/libmkl_") + kernel + ".so") != std::string::npos)
      *static_cast<std::string*>(found) = kernel;
  return 0;
}

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

  // MKL loads one library of kernels, such as libmkl_avx2.so.3, at its first computation.
  std::string kernel() const override {
    std::string found;
    dl_iterate_phdr(note_kernel, &found);
    return found;
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
