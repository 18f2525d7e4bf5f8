// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// The lines of a file or of standard input, as they arrive.
///
/// Available lines are passed on at once. So a program at the other end of a pipe gets an answer to each line before it
/// writes the next.
struct InputLines {
  enum Line: Hashable {
    case text([UInt8])
    /// Longer than the limit; its contents were discarded.
    case tooLong
  }

  private let file: FileDescriptor
  private let limit: Int
  private var rest: [UInt8] = []
  private var isSkipping = false
  private var isAtEnd = false

  /// - Parameters:
  ///   - path: `-` for standard input.
  ///   - limit: maximum bytes of a line.
  init(path: String, limit: Int) throws(InputError) {
    file = try Input.open(path)
    self.limit = limit
  }

  /// Returns the lines that have arrived since the last call, without their ends; `nil` after the last. May be empty.
  mutating func next() throws(InputError) -> [Line]? {
    guard !isAtEnd else { return nil }
    let chunk = try Input.available(in: file)
    if chunk.isEmpty {
      isAtEnd = true
      return isSkipping ? [.tooLong] : (rest.isEmpty ? nil : [.text(rest)])
    }
    var lines: [Line] = []
    var start = chunk.startIndex
    while let end = chunk[start...].firstIndex(of: UInt8(ascii: "\n")) {
      add(chunk[start..<end])
      lines.append(isSkipping ? .tooLong : .text(rest))
      (rest, isSkipping) = ([], false)
      start = end + 1
    }
    add(chunk[start...])
    return lines
  }

  private mutating func add(_ part: ArraySlice<UInt8>) {
    guard !isSkipping else { return }
    if rest.count + part.count > limit {
      (rest, isSkipping) = ([], true)
    } else {
      rest += part
    }
  }
}
