// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CMalloc

#if canImport(Glibc)
  import Glibc
#endif

/// What the cache asks of the process's memory allocator. Of effect with glibc only.
package enum Allocator {
  /// Has malloc waste less: two arenas instead of up to eight for each processor, and bodies of 1 MiB or more in memory of
  /// their own. For the main function of a program, as it concerns the whole process.
  ///
  /// Each arena keeps what is freed in it for its own threads, and bodies that come and go between stored ones leave holes.
  /// With a store of 32 MB, traffic of all sizes and the defaults, such holes were 34 of a proxy's 76 MB, and 150 of 200 MB
  /// in a process with `URLSession`, which has many threads. With these settings the processes had 80 and 95 MB.
  ///
  /// The environment variables `MALLOC_ARENA_MAX` and `MALLOC_MMAP_THRESHOLD_` take precedence.
  package static func keepCompact() {
    #if canImport(Glibc)
      if getenv("MALLOC_ARENA_MAX") == nil { mallopt(M_ARENA_MAX, 2) }
      // Set, it does not grow with what is freed.
      if getenv("MALLOC_MMAP_THRESHOLD_") == nil { mallopt(M_MMAP_THRESHOLD, 1 << 20) }
    #endif
  }

  /// Returns freed memory to the system. Takes some milliseconds.
  static func giveBack() {
    #if canImport(Glibc)
      malloc_trim(0)
    #endif
  }
}
