// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#include "CAllocations.h"

// Without the header, the program runs all the same, and callgrind counts nothing.
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

void start_instrumentation(void) { CALLGRIND_START_INSTRUMENTATION; }

void stop_instrumentation(const char *name) {
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT(name);
}

void leave_thread_uncounted(void) { CALLGRIND_TOGGLE_COLLECT; }
