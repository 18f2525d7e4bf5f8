// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A dictionary that knows in which order its keys were last used.
///
/// All operations take O(1) on average: the keys are linked in their order.
struct RecencyMap<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private struct Node: Sendable {
    let key: Key
    var value: Value
    var newer: Int
    var older: Int
  }

  private static var none: Int { -1 }

  /// A removed node leaves a free place, which is `nil`.
  private var nodes: [Node?] = []
  private var free: [Int] = []
  private var positions: [Key: Int] = [:]
  private var newest = -1
  private var oldest = -1

  var count: Int { positions.count }
  var isEmpty: Bool { positions.isEmpty }

  /// The key that was used least recently.
  var leastRecent: Key? { oldest == Self.none ? nil : nodes[oldest]?.key }

  func contains(_ key: Key) -> Bool { positions[key] != nil }

  /// The value of a key; looking at it is no use of the key.
  subscript(key: Key) -> Value? { positions[key].flatMap { nodes[$0]?.value } }

  /// Returns keys and their values, the one that was used most recently first.
  ///
  /// - Complexity: O(`maximum`).
  func mostRecent(_ maximum: Int = .max) -> [(key: Key, value: Value)] {
    var found: [(key: Key, value: Value)] = []
    var position = newest
    while found.count < maximum, position != Self.none, let node = nodes[position] {
      found.append((node.key, node.value))
      position = node.older
    }
    return found
  }

  /// Makes a key the most recent one; returns `false` if there is no such key.
  @discardableResult
  mutating func use(_ key: Key) -> Bool {
    guard let position = positions[key] else { return false }
    if position == newest { return true }
    unlink(position)
    link(position)
    return true
  }

  /// Sets the value of a key, which becomes the most recent one.
  mutating func set(_ key: Key, to value: Value) {
    if use(key) {
      nodes[newest]?.value = value
      return
    }
    let node = Node(key: key, value: value, newer: Self.none, older: Self.none)
    let position: Int
    if let place = free.popLast() {
      position = place
      nodes[position] = node
    } else {
      position = nodes.count
      nodes.append(node)
    }
    positions[key] = position
    link(position)
  }

  /// Changes the value of a key, which becomes the most recent one; returns `nil` if there is no such key.
  mutating func update<Result>(_ key: Key, _ change: (inout Value) -> Result) -> Result? {
    guard use(key) else { return nil }
    // Taken out meanwhile, so that the change copies nothing.
    guard var node = nodes[newest] else { return nil }
    nodes[newest] = nil
    defer { nodes[newest] = node }
    return change(&node.value)
  }

  @discardableResult
  mutating func remove(_ key: Key) -> Value? {
    guard let position = positions.removeValue(forKey: key) else { return nil }
    unlink(position)
    defer {
      nodes[position] = nil
      free.append(position)
    }
    return nodes[position]?.value
  }

  private mutating func link(_ position: Int) {
    nodes[position]?.older = newest
    nodes[position]?.newer = Self.none
    if newest != Self.none { nodes[newest]?.newer = position }
    newest = position
    if oldest == Self.none { oldest = position }
  }

  private mutating func unlink(_ position: Int) {
    guard let node = nodes[position] else { return }
    if node.newer == Self.none { newest = node.older } else { nodes[node.newer]?.older = node.older }
    if node.older == Self.none { oldest = node.newer } else { nodes[node.older]?.newer = node.newer }
  }
}
