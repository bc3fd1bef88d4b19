// Thread-local variables that are read often: found without a call, in the block that every thread has from
// its start. They must be few and small.
#pragma once

#define TN_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
