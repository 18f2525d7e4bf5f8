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

/// The slots of a cluster: each key belongs to one, and each slot to one primary.
enum ClusterSlot {
  static let count = 16384

  /// The slot of a key: the checksum of the part between the first `{` and the next `}`, if that is not empty, or else
  /// of the whole key.
  static func of(_ key: [UInt8]) -> Int {
    guard let open = key.firstIndex(of: UInt8(ascii: "{")),
      let close = key[open...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
    else { return Int(crc16(key[...])) % count }
    return Int(crc16(key[(open + 1)..<close])) % count
  }

  /// CRC-16/XMODEM: polynomial 0x1021, initial value 0.
  static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
    bytes.reduce(0) { crc, byte in (crc << 8) ^ table[Int(UInt8(truncatingIfNeeded: crc >> 8) ^ byte)] }
  }

  private static let table: [UInt16] = (0..<256).map { index in
    (0..<8).reduce(UInt16(index) << 8) { crc, _ in crc & 0x8000 == 0 ? crc << 1 : (crc << 1) ^ 0x1021 }
  }
}
