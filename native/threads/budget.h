// How many threads a computation may use: a number for the process, and one for a block of one thread's code.
// Setting it touches nothing; loops and providers ask when they run.
#pragma once

namespace tn::threads {

// min(CPU affinity, cgroup quota, OMP_NUM_THREADS), at least 1; looked up at the first call.
int available();

// The number chosen for this thread: the block's, else the process's; 0 if neither is.
int chosen();

// The chosen number, else available().
int budget();

// 0 returns to the default, or to no block. Both give the previous value.
int exchange_process_budget(int threads);
int exchange_block_budget(int threads);

}  // namespace tn::threads
