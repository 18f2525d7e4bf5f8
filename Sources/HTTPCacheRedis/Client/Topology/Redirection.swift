// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What a node of a cluster says instead of executing a command.
enum Redirection: Hashable {
  /// Another node has the slot.
  case moved(slot: Int, to: RedisAddress)
  /// The slot is moving, and another node has this key already.
  case ask(RedisAddress)
  /// The slot is moving, and the keys of the command are on both nodes.
  case tryAgain

  /// Reads a reply of `server`; `nil` if it is not a redirection.
  init?(_ reply: RedisValue, from server: RedisAddress) {
    guard case .error(let message) = reply else { return nil }
    let words = message.split(separator: " ")
    switch words.first {
    case "TRYAGAIN": self = .tryAgain
    case "MOVED", "ASK":
      guard words.count == 3, let slot = Int(words[1]), (0..<ClusterSlot.count).contains(slot),
        // The host may be missing, and an IPv6 address has colons.
        let colon = words[2].lastIndex(of: ":"), let port = UInt16(words[2][colon...].dropFirst()), port > 0
      else { return nil }
      let address = RedisAddress(host: String(words[2][..<colon]), port: Int(port), seenFrom: server)
      self = words[0] == "MOVED" ? .moved(slot: slot, to: address) : .ask(address)
    default: return nil
    }
  }

  /// The redirections among replies, each with the positions of its commands, in the order of the commands.
  static func all(in replies: [RedisValue], from server: RedisAddress) -> [(Redirection, [Int])] {
    var found: [(redirection: Redirection, indices: [Int])] = []
    for (index, reply) in replies.enumerated() {
      guard let redirection = Redirection(reply, from: server) else { continue }
      if let position = found.firstIndex(where: { $0.redirection == redirection }) {
        found[position].indices.append(index)
      } else {
        found.append((redirection, [index]))
      }
    }
    return found
  }
}
