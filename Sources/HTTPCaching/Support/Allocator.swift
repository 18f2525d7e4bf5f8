import CMalloc

#if canImport(Glibc)
  import Glibc
#endif

/// What the cache asks of the process's memory allocator. Of effect with glibc only.
package enum Allocator {
  /// Has malloc use two arenas instead of up to eight for each processor. For the main function of a program: it concerns
  /// the whole process.
  ///
  /// Each arena keeps what is freed in it for its own threads, and bodies that come and go between stored ones leave holes.
  /// With a store of 32 MB, traffic of all sizes and the default, half of a proxy's memory was such holes (34 of 76 MB), and
  /// 150 of 200 MB in a process with `URLSession`, whose threads are many. With two arenas they were 10 and 50 MB.
  ///
  /// The environment variable `MALLOC_ARENA_MAX` goes before.
  package static func useFewArenas() {
    #if canImport(Glibc)
      if getenv("MALLOC_ARENA_MAX") == nil { mallopt(M_ARENA_MAX, 2) }
    #endif
  }

  /// Returns freed memory to the system. Takes some milliseconds.
  static func giveBack() {
    #if canImport(Glibc)
      malloc_trim(0)
    #endif
  }
}
