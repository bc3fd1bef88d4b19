// A provider: the BLAS and LAPACK entry points of one loaded library, and what is known of that library.
// There is one subclass per library family, each in a file of its own with a `recognise_` function listed in
// provider.cpp.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "providers/routine.h"
#include "providers/shared_object.h"

namespace tn::providers {

// One file, or two: BLAS, which decides the family, then LAPACK.
using Files = std::vector<SharedObject>;

// What tn.providers.info() says.
struct Info {
  std::string name, kind;
  std::vector<std::string> paths;
  std::string version, lapack_version, kernel, threading, prefix, suffix;
  int integer_bits, threads;
  std::vector<std::string> missing;  // routines without an entry, such as "zgesdd"
};

class Provider {
 public:
  virtual ~Provider() = default;
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  void* function(Routine routine, int type) const { return table_[index(routine)][type]; }
  bool ilp64() const { return ilp64_; }
  const std::string& name() const { return name_; }
  Info info() const;
  // Where BLAS and LAPACK really lie, which may be behind a link or in a dependency of the file opened.
  std::vector<std::string> paths() const;

  // Tells the library the budget of this thread, if it was last told another one.
  void follow_budget();

 protected:
  Provider(std::string name, Files files);
  // Fills the table and finds the width of integers, once the family has made the library ready.
  void fill();
  void fill(bool ilp64);

  virtual const char* kind() const = 0;
  virtual std::string version() const = 0;
  virtual std::string kernel() const { return ""; }
  virtual std::string threading() const { return "none"; }
  virtual int get_threads() const { return 1; }
  virtual void set_threads(int) {}
  // How many threads the library would use if nobody told it, its environment variables considered.
  virtual int preferred_threads() const { return get_threads(); }

  // A function of the library's own; null if it has none of that name.
  template <class F>
  F* own(const char* name) const {
    return files_.front().function<F>(name);
  }

  friend std::unique_ptr<Provider> open_provider(const std::string& name,
                                                 const std::vector<std::string>& paths);

 private:
  void* find(const std::string& routine) const;
  bool probe_ilp64() const;
  std::string lapack_version() const;

  std::string name_;
  Files files_;
  std::vector<Spelling> spellings_;  // one per file
  void* table_[kRoutines][kTypes] = {};
  bool ilp64_ = false;
  int preferred_threads_ = 1;
  std::atomic<int> told_{-1};  // the last choice passed on; 0: none was made
  std::mutex telling_;
};

// Opens the files and asks the families in turn whose library it is.
std::unique_ptr<Provider> open_provider(const std::string& name, const std::vector<std::string>& paths);

// The families; each gives null for files that are not its own.
std::unique_ptr<Provider> recognise_openblas(const std::string& name, Files& files);
std::unique_ptr<Provider> recognise_mkl(const std::string& name, Files& files);
std::unique_ptr<Provider> recognise_blis(const std::string& name, Files& files);
std::unique_ptr<Provider> recognise_reference(const std::string& name, Files& files);

}  // namespace tn::providers
