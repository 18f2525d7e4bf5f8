// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The open files of the log's segments, by number.
///
/// The numbers are consecutive, so that a lookup needs no hashing, which would be a tenth of a read from the page
/// cache.
struct SegmentFiles: Sendable {
  private var first: UInt32 = 0
  private var files: ContiguousArray<(any File)?> = []

  subscript(number: UInt32) -> (any File)? {
    @inline(__always)
    get {
      let index = Int(number) - Int(first)
      return files.indices.contains(index) ? files[index] : nil
    }
    set {
      if files.isEmpty { first = number }
      if number < first {
        // The file is gone already.
        guard newValue != nil else { return }
        files.insert(contentsOf: repeatElement(nil, count: Int(first - number)), at: 0)
        first = number
      }
      let index = Int(number - first)
      while files.count <= index { files.append(nil) }
      files[index] = newValue
      while let last = files.last, last == nil { files.removeLast() }
      let gone = files.prefix { $0 == nil }.count
      files.removeFirst(gone)
      first += UInt32(gone)
    }
  }

  /// All open files, oldest first.
  var all: [(number: UInt32, file: any File)] {
    files.indices.compactMap { index in files[index].map { (first + UInt32(index), $0) } }
  }
}
