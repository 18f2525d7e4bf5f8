// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

/// How many blocks this process has asked malloc and its kin for; -1 where that cannot be counted.
long allocation_count(void);

/// Calls `body`: a function by whose name a profiler finds what is to be measured.
void call_measured(void (*body)(void *), void *context);

/// From here to `stop_instrumentation`, callgrind counts in all threads, if it was started with `--instr-atstart=no`. It then
/// writes its counts to a file, with this name in it, and begins again at zero.
void start_instrumentation(void);
void stop_instrumentation(const char *name);

/// From now on, callgrind does not count the instructions of the calling thread.
void leave_thread_uncounted(void);

/// Starts an origin on 127.0.0.1, on threads that are not counted, and returns its port, or -1. It answers a request with
/// If-None-Match with `not_modified`, and any other with `response`.
int start_origin(const char *response, const char *not_modified);

/// Connects to 127.0.0.1. Returns the descriptor, or -1.
int connect_to(int port);

/// Sends a request, and reads a response whose content has `content_bytes`. Returns whether its status is `status`.
int exchange(int descriptor, const char *request, int status, long content_bytes);

/// Reads to the end of the connection, and closes it.
void finish_connection(int descriptor);

/// From now on, Swift's own executor keeps its tasks for `run_collected_tasks`.
void collect_tasks(void);

/// Runs those tasks on the calling thread, until there are none.
void run_collected_tasks(void);

/// From now on, Swift's own executor runs its tasks again.
void run_tasks_as_usual(void);

#endif
