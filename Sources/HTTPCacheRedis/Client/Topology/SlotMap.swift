// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Which node has which slots.
struct SlotMap: Sendable {
  /// More nodes than Redis recommends for a cluster. A faulty node cannot make the map grow further.
  static let maximumNodes = 1024

  /// The nodes, and for each slot the position of its node, or -1.
  private var nodes: [RedisAddress] = []
  private var positions: [Int16] = []

  /// Makes an empty map.
  init() {}

  /// Reads a reply to `CLUSTER SLOTS`; `nil` if it is not one.
  ///
  /// - Parameters:
  ///   - reply: the reply.
  ///   - server: the node that sent it. A node that does not know its own name leaves it out.
  init?(_ reply: RedisValue, from server: RedisAddress) {
    guard let ranges = reply.elements, !ranges.isEmpty else { return nil }
    for range in ranges {
      guard let parts = range.elements, parts.count >= 3, let first = parts[0].integer,
        let last = parts[1].integer,
        0 <= first, first <= last, last < ClusterSlot.count, let node = parts[2].elements, node.count >= 2,
        let port = node[1].integer.flatMap({ UInt16(exactly: $0) })
      else { return nil }
      let address = RedisAddress(host: node[0].text ?? "", port: Int(port), seenFrom: server)
      for slot in Int(first)...Int(last) { self[slot] = address }
    }
  }

  var isEmpty: Bool { nodes.isEmpty }
  var addresses: Set<RedisAddress> { Set(nodes) }

  /// The node that has a slot.
  subscript(slot: Int) -> RedisAddress? {
    get {
      guard positions.indices.contains(slot), positions[slot] >= 0 else { return nil }
      return nodes[Int(positions[slot])]
    }
    set {
      guard (0..<ClusterSlot.count).contains(slot), let newValue else { return }
      if positions.isEmpty { positions = Array(repeating: -1, count: ClusterSlot.count) }
      if let position = nodes.firstIndex(of: newValue) {
        positions[slot] = Int16(position)
      } else if nodes.count < Self.maximumNodes {
        nodes.append(newValue)
        positions[slot] = Int16(nodes.count - 1)
      }
    }
  }
}

extension RedisAddress {
  /// The address of a node as another one tells it. Without a host it is the host of the other one.
  init(host: String, port: Int, seenFrom server: RedisAddress) {
    if host.isEmpty || host == "?", case .tcp(let own, _) = server {
      self = .tcp(host: own, port: port)
    } else {
      self = .tcp(host: host, port: port)
    }
  }
}
