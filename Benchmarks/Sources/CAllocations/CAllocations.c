// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#define _GNU_SOURCE
#include "CAllocations.h"

#include <stddef.h>

// glibc lets a program define malloc and its kin, and keeps its own within reach by other names. All libraries of the
// process then call these, the Swift runtime's too.
#if defined(__GLIBC__) || defined(__gnu_linux__)

#include <errno.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static _Atomic long count;

long allocation_count(void) { return count; }

void *malloc(size_t size) {
  count++;
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  count++;
  return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
  count++;
  return __libc_realloc(block, size);
}

void free(void *block) { __libc_free(block); }

void *memalign(size_t alignment, size_t size) {
  count++;
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
  void *block = memalign(alignment, size);
  if (block == NULL) return ENOMEM;
  *result = block;
  return 0;
}

#else

long allocation_count(void) { return -1; }

#endif

__attribute__((noinline)) void call_measured(void (*body)(void *), void *context) {
  body(context);
  __asm__ volatile("");  // No tail call: it has to be left again.
}
