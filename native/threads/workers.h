// Threads that share one computation. They start at the first use, may run on every CPU of the process (not
// only on those of the caller), and sleep when there is nothing to do.
#pragma once

namespace tn::threads {

using Task = void (*)(const void* context, int index);

// Calls task(context, i) for i = 0 .. count - 1, on at most `threads` threads of which the caller is one, and
// returns when all are done. Tasks do not raise. Inside a task, and while another thread's computation has
// the workers, the caller does all of it alone.
void run(int count, int threads, Task task, const void* context);

template <class F>
void run(int count, int threads, const F& f) {
  run(count, threads, [](const void* context, int i) { (*static_cast<const F*>(context))(i); }, &f);
}

}  // namespace tn::threads
