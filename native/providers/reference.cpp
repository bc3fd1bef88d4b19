// Any other library with the standard symbols: Netlib's reference BLAS and LAPACK, and builds without calls
// of their own for versions or threads. The last family asked, it takes everything.
#include "providers/provider.h"

namespace tn::providers {
namespace {

class Reference final : public Provider {
 public:
  Reference(const std::string& name, Files files) : Provider(name, std::move(files)) { fill(); }

 private:
  const char* kind() const override { return "reference"; }
  std::string version() const override { return ""; }
};

}  // namespace

std::unique_ptr<Provider> recognise_reference(const std::string& name, Files& files) {
  return std::make_unique<Reference>(name, std::move(files));
}

}  // namespace tn::providers
