// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// XXH3 of the system's libxxhash (Debian: libxxhash-dev), which the store uses on Linux.
#pragma once
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>

// What follows in SSE takes four times as long while the upper halves of the registers are in use: XXH3 leaves them so.
__attribute__((target("avx"))) static inline void store_leave_avx(void) { __builtin_ia32_vzeroupper(); }

// XXH3 of 64 bits of much, with the widest registers that the processor has: 16 KiB take 0.25 us and not 1.0.
static inline uint64_t store_hash_much(const void *_Nullable bytes, size_t count, uint64_t seed) {
  if (count < 1024) return XXH3_64bits_withSeed(bytes, count, seed);
  uint64_t hash = XXH3_64bits_withSeed_dispatch(bytes, count, seed);
  if (__builtin_cpu_supports("avx")) store_leave_avx();
  return hash;
}
#else
#include <xxhash.h>

static inline uint64_t store_hash_much(const void *_Nullable bytes, size_t count, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, count, seed);
}
#endif

// The same header once more, for what it does with little to be compiled where it is called.
#define XXH_INLINE_ALL
#include <xxhash.h>

// XXH3 of 64 bits.
static inline uint64_t store_hash(const void *_Nullable bytes, size_t count, uint64_t seed) {
  if (count <= XXH3_MIDSIZE_MAX) return XXH3_64bits_withSeed(bytes, count, seed);
  return store_hash_much(bytes, count, seed);
}
