// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension [UInt8] {
  /// Makes an array of what is written to its memory.
  ///
  /// `init(unsafeUninitializedCapacity:)` looks generic metadata up at every call on Linux: it takes 554 instructions, and
  /// this 252, those of `malloc` among them.
  ///
  /// - Parameters:
  ///   - capacity: the bytes of memory; more than 0.
  ///   - fill: writes to them from the first on, and gives how many it wrote.
  @inline(__always)
  init<Failure: Error>(
    capacity: Int, filling fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  ) throws(Failure) {
    #if canImport(Darwin)
      // The other way is newer than the oldest systems that are supported.
      var result: Swift.Result<Void, Failure> = .success(())
      self.init(unsafeUninitializedCapacity: capacity) { buffer, count in
        do throws(Failure) {
          count = try fill(
            UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<capacity]))
        } catch {
          result = .failure(error)
        }
      }
      try result.get()
    #else
      self.init()
      try append(addingCapacity: capacity) { (span: inout OutputSpan<UInt8>) throws(Failure) in
        try span.withUnsafeMutableBufferPointer { (buffer, count) throws(Failure) in
          count = try fill(
            UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<capacity]))
        }
      }
    #endif
  }
}
