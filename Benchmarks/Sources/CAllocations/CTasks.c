// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#include "CAllocations.h"

#include <stdlib.h>

// The hook and the entry point of Swift's runtime for other executors than its own. A profiler then sees all of a request in
// one thread, and the count of its instructions does not depend on the scheduler.
#define SWIFT_CALL __attribute__((swiftcall))

typedef SWIFT_CALL void (*enqueue)(void *task);
extern void (SWIFT_CALL *swift_task_enqueueGlobal_hook)(void *task, enqueue original);
extern SWIFT_CALL void swift_job_run(void *task, void *identity, void *implementation);

#define MOST 64

static void *tasks[MOST];
static unsigned first, end;

static SWIFT_CALL void collect(void *task, enqueue original) {
  if (end - first == MOST) abort();
  tasks[end++ % MOST] = task;
}

void collect_tasks(void) { swift_task_enqueueGlobal_hook = collect; }

void run_tasks_as_usual(void) { swift_task_enqueueGlobal_hook = NULL; }

void run_collected_tasks(void) {
  while (first != end) swift_job_run(tasks[first++ % MOST], NULL, NULL);
}
