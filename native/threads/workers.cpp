#include "threads/workers.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/local.h"
#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#endif

namespace tn::threads {
namespace {

TN_THREAD_LOCAL bool inside = false;  // of a task

// The CPUs of the process are those of its first thread: a caller may be pinned to one of them. The name
// is what `taenite affinity` and other tools know a worker by.
void settle() {
#ifdef __linux__
  pthread_setname_np(pthread_self(), "taenite");
  cpu_set_t cpus;
  if (sched_getaffinity(getpid(), sizeof cpus, &cpus) == 0)
    pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
#endif
}

// What the threads share while they work on one computation.
struct Job {
  Task task;
  const void* context;
  int count;
  std::atomic<int> next{0};

  void work() {
    for (int i = next.fetch_add(1); i < count; i = next.fetch_add(1)) task(context, i);
  }
};

class Pool {
 public:
  void run(int helpers, Job& job) {
    start(helpers);
    {
      std::lock_guard lock(mutex_);
      job_ = &job;
      wanted_ = std::min(helpers, started_);
      ++round_;
    }
    wake_.notify_all();
    inside = true;
    job.work();
    inside = false;
    std::unique_lock lock(mutex_);
    wanted_ = 0;  // who has not begun need not
    done_.wait(lock, [this] { return active_ == 0; });
    job_ = nullptr;
  }

  std::mutex& turn() { return turn_; }

 private:
  void start(int helpers) {
    for (; started_ < helpers; ++started_) {
      try {
        std::thread([this] { serve(); }).detach();
      } catch (const std::system_error&) {  // the system has no more threads: fewer do the work
        return;
      }
    }
  }

  void serve() {
    settle();
    inside = true;
    std::unique_lock lock(mutex_);
    for (uint64_t seen = 0;;) {
      wake_.wait(lock, [&] { return round_ != seen && wanted_ > 0; });
      seen = round_;
      --wanted_;
      ++active_;
      Job* job = job_;
      lock.unlock();
      job->work();
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex turn_;  // held by the thread whose computation has the workers
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  int started_ = 0, wanted_ = 0, active_ = 0;
  uint64_t round_ = 0;
};

// Never freed: workers sleep in it until the process ends. A forked child has no workers, so it gets a pool
// of its own.
std::atomic<Pool*> pool{nullptr};

Pool& the_pool() {
  Pool* known = pool.load(std::memory_order_acquire);
  if (known) return *known;
  Pool* fresh = new Pool;
  if (!pool.compare_exchange_strong(known, fresh)) {
    delete fresh;
    return *known;
  }
#ifdef __linux__
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    pool = nullptr;
    inside = false;
  });
  (void)registered;
#endif
  return *fresh;
}

}  // namespace

void run(int count, int threads, Task task, const void* context) {
  Job job{task, context, count};
  if (count < 2 || threads < 2 || inside) return job.work();
  Pool& workers = the_pool();
  std::unique_lock turn(workers.turn(), std::try_to_lock);
  if (!turn.owns_lock()) return job.work();
  workers.run(std::min(count, threads) - 1, job);
}

}  // namespace tn::threads
