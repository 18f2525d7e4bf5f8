// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Exact LRU: evicts the least recently used entries until the total cost is within the capacity.
final class NodeList<Key: Hashable, Value> {
  private final class Node {
    let key: Key
    var value: Value
    var cost: Int
    var next: Node?
    // Unsafe: a node is unlinked from its neighbours before the Dictionary releases it.
    unowned(unsafe) var previous: Node?

    init(_ key: Key, _ value: Value, _ cost: Int) {
      self.key = key
      self.value = value
      self.cost = cost
    }
  }

  private let capacity: Int
  private var nodes: [Key: Node] = [:]
  private var head: Node?
  private unowned(unsafe) var tail: Node?
  private(set) var cost = 0

  init(capacity: Int) { self.capacity = capacity }

  deinit {
    // One by one: otherwise each node would free the next, as deep as the list is long.
    while let node = head {
      head = node.next
      node.next = nil
    }
  }

  var count: Int { nodes.count }

  /// Returns the value of a key, which becomes the most recently used.
  func value(of key: Key) -> Value? {
    guard let node = nodes[key] else { return nil }
    if head !== node {
      unlink(node)
      linkFirst(node)
    }
    return node.value
  }

  /// Stores a value, and replaces the present one. Returns whether it was refused because it costs more than the
  /// capacity.
  func put(_ key: Key, _ value: Value, cost newCost: Int) -> Bool {
    let known = nodes[key]
    if let known {
      unlink(known)
      cost -= known.cost
    }
    guard newCost <= capacity else {
      nodes[key] = nil
      return true
    }
    while cost + newCost > capacity, let last = tail {
      unlink(last)
      nodes[last.key] = nil
      cost -= last.cost
    }
    cost += newCost
    guard let known else {
      let node = Node(key, value, newCost)
      nodes[key] = node
      linkFirst(node)
      return false
    }
    known.value = value
    known.cost = newCost
    linkFirst(known)
    return false
  }

  /// Removes an entry, and returns whether there was one.
  func remove(_ key: Key) -> Bool {
    guard let node = nodes.removeValue(forKey: key) else { return false }
    unlink(node)
    cost -= node.cost
    return true
  }

  private func linkFirst(_ node: Node) {
    node.next = head
    node.previous = nil
    head?.previous = node
    head = node
    if tail == nil { tail = node }
  }

  private func unlink(_ node: Node) {
    if let next = node.next { next.previous = node.previous } else { tail = node.previous }
    if let previous = node.previous { previous.next = node.next } else { head = node.next }
    node.next = nil
  }
}
