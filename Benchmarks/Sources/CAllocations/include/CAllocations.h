// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

/// How many blocks this process has asked malloc and its kin for; -1 where that cannot be counted.
long allocation_count(void);

/// Calls `body`: a function by whose name a profiler finds what is to be measured.
void call_measured(void (*body)(void *), void *context);

/// From now on, Swift's own executor keeps its tasks for `run_collected_tasks`.
void collect_tasks(void);

/// Runs those tasks on the calling thread, until there are none.
void run_collected_tasks(void);

#endif
