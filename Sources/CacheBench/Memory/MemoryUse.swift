import Foundation

#if canImport(Glibc)
  import CMalloc
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// What the process occupies at a moment.
struct MemoryUse: Sendable {
  /// Bytes that `malloc` has given out, its own headers and padding included; `nil` where it does not say.
  var allocatedBytes: Int?
  /// Bytes of physical memory, as the system counts them; `nil` where that is not known.
  var residentBytes: Int?

  /// What is free is given back to the system first, so that a later moment can be compared with this one.
  static func now() -> MemoryUse {
    #if canImport(Glibc)
      malloc_trim(0)
      let info = mallinfo2()
      return MemoryUse(allocatedBytes: Int(info.uordblks + info.hblkhd), residentBytes: resident)
    #elseif canImport(Darwin)
      return MemoryUse(allocatedBytes: Int(mstats().bytes_used), residentBytes: nil)
    #else
      return MemoryUse(allocatedBytes: nil, residentBytes: resident)
    #endif
  }

  /// The second number of statm: pages.
  private static var resident: Int? {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
    let words = text.split(separator: " ")
    guard words.count > 1, let pages = Int(words[1]) else { return nil }
    return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}
