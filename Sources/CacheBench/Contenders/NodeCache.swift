// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheStore
import Synchronization

/// The usual LRU in Swift: class nodes in a list, a Dictionary to find them, and a Mutex around both.
final class NodeCache: ReadableCache {
  private let nodes: Mutex<NodeList<StoreKey, [UInt8]>>

  /// - Parameter capacity: in entries.
  init(capacity: Int) {
    nodes = Mutex(NodeList(capacity: capacity))
  }

  func bodyCount(of key: StoreKey) -> Int? { nodes.withLock { $0.value(of: key) }?.count }
  func bodyByte(of key: StoreKey) -> UInt8? { nodes.withLock { $0.value(of: key) }?.middleByte }

  func put(_ key: StoreKey, _ body: [UInt8]) -> Bool {
    // What it returns is freed after the lock.
    let refused = nodes.withLock { $0.put(key, body, cost: 1) }
    return !refused
  }

  var entryCount: Int? { nodes.withLock { $0.count } }
}

/// Exact LRU: evicts the least recently used until the costs of all are within the capacity.
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

  init(capacity: Int) {
    self.capacity = capacity
  }

  deinit {
    // One by one: each would free the next, as deep as the list is long.
    while let node = head {
      head = node.next
      node.next = nil
    }
  }

  var count: Int { nodes.count }

  /// The value of a key, which becomes the most recently used.
  func value(of key: Key) -> Value? {
    guard let node = nodes[key] else { return nil }
    if head !== node {
      unlink(node)
      linkFirst(node)
    }
    return node.value
  }

  /// Puts a value in place of the one that was there. Returns whether it was refused because it costs more than all may.
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
