// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Makes a reply out of its parts, which the parser finds in the order of their bytes.
///
/// Every function returns whether the part was accepted. After `false` the reply, and with it the connection, cannot be
/// used.
final class ReplyBuilder {
  /// Arrays in arrays in arrays. The replies of Redis' own commands have up to four levels.
  static let maximumDepth = 7
  /// What an element counts at the least, so that a reply of empty elements is limited too.
  private static let elementCost = 32

  private struct Level {
    var missing: Int
    var elements: [RedisValue]
  }

  /// Maximum size of a reply in bytes.
  let limit: Int
  /// What of it is left for the reply under construction.
  private(set) var remaining: Int
  /// Why a part was not accepted.
  private(set) var violation: String?
  /// Bytes that came from the server and are not in a complete part.
  var unparsed = 0
  private var levels: [Level] = []
  private var complete: RedisValue?

  init(limit: Int) {
    self.limit = limit
    remaining = limit
  }

  /// Returns the complete reply, and begins the next one.
  func take() -> RedisValue? {
    guard levels.isEmpty, let complete else { return nil }
    self.complete = nil
    remaining = limit
    return complete
  }

  func add(string bytes: UnsafeRawBufferPointer, isError: Bool) -> Bool {
    guard spend(bytes.count) else { return false }
    return add(isError ? .error(String(decoding: bytes, as: UTF8.self)) : .string([UInt8](bytes)))
  }

  func add(_ value: RedisValue) -> Bool {
    guard spend(Self.elementCost) else { return false }
    var value = value
    while let last = levels.indices.last {
      levels[last].elements.append(value)
      levels[last].missing -= 1
      guard levels[last].missing == 0 else { return true }
      value = .array(levels.removeLast().elements)
    }
    guard complete == nil else { return false }
    complete = value
    return true
  }

  /// Begins an array. Its size, as announced, allocates nothing.
  func open(count: Int) -> Bool {
    guard count > 0 else { return count == 0 && add(.array([])) }
    guard levels.count < Self.maximumDepth else {
      violation = "arrays of more than \(Self.maximumDepth) levels"
      return false
    }
    guard count <= remaining / Self.elementCost else { return exceeded() }
    guard spend(Self.elementCost) else { return false }
    var elements: [RedisValue] = []
    elements.reserveCapacity(min(count, 16))
    levels.append(Level(missing: count, elements: elements))
    return true
  }

  private func spend(_ bytes: Int) -> Bool {
    guard bytes <= remaining else { return exceeded() }
    remaining -= bytes
    return true
  }

  private func exceeded() -> Bool {
    violation = "a reply of more than \(limit) bytes"
    return false
  }
}
