// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCaching

/// The nodes of a cluster, and which of them has which slots.
///
/// A command for a slot that is not known goes to any node. The node executes it or says which one does (`MOVED`), and
/// that also starts a refresh of the map in the background. So no command waits for the map.
final class RedisCluster: Sendable {
  /// How often a command follows redirections, or is repeated because a slot is moving.
  private static let maximumAttempts = 6
  /// Pause before a command is repeated because a slot is moving.
  private static let pause = Duration.milliseconds(2)
  /// Shortest time between two refreshes of the map.
  private static let refreshPause = Duration.milliseconds(500)

  private struct State {
    var slots: SlotMap
    var nodes: [RedisAddress: RedisNode] = [:]
    var isRefreshing = false
    /// When the map may be asked for again.
    var nextRefresh: Timestamp?
    var isClosed = false
  }

  private let configuration: RedisSharedTier.Configuration
  private let settings: ConnectionSettings
  private let state: Mutex<State>

  init(_ configuration: RedisSharedTier.Configuration, _ settings: ConnectionSettings) {
    self.configuration = configuration
    self.settings = settings
    state = Mutex(State(slots: SlotMap()))
  }

  // MARK: Sending

  func pipeline(_ commands: [[[UInt8]]], key: [UInt8]?, timeout: Duration) async throws -> [RedisValue] {
    let deadline = CallDeadline(in: timeout, on: configuration.clock)
    let slot = key.map(ClusterSlot.of)
    let address = address(ofSlot: slot)
    var replies = try await send(commands, to: address, timeout: timeout)
    for _ in 1..<Self.maximumAttempts {
      let moves = Redirection.all(in: replies, from: address)
      guard !moves.isEmpty, !deadline.isOver else { break }
      for (redirection, indices) in moves {
        try await follow(redirection, indices, of: commands, replies: &replies, from: address, deadline)
      }
    }
    return replies
  }

  /// Sends those commands again that have the same redirection.
  private func follow(
    _ redirection: Redirection, _ indices: [Int], of commands: [[[UInt8]]], replies: inout [RedisValue],
    from address: RedisAddress, _ deadline: CallDeadline
  ) async throws {
    var repeated = indices.map { commands[$0] }
    var target = address
    var isAsking = false
    settings.counters.redirections.wrappingAdd(indices.count, ordering: .relaxed)
    switch redirection {
    case .moved(let slot, let node):
      note(slot: slot, at: node)
      target = node
    case .ask(let node):
      target = node
      isAsking = true
      // The permission is for the next command only.
      repeated = repeated.flatMap { [[Array("ASKING".utf8)], $0] }
    case .tryAgain:
      try await configuration.clock.sleep(for: Self.pause)
    }
    var results = try await send(repeated, to: target, timeout: deadline.rest)
    if isAsking { results = results.indices.filter { $0 % 2 == 1 }.map { results[$0] } }
    for (index, result) in zip(indices, results) { replies[index] = result }
  }

  private func send(
    _ commands: [[[UInt8]]], to address: RedisAddress, timeout: Duration
  ) async throws -> [RedisValue] {
    let node = try node(at: address)
    do {
      return try await node.pipeline(commands, timeout: timeout)
    } catch let error as RedisError {
      // Another node may have taken over its slots.
      if error.code != .overloaded, error.code != .closed { refresh() }
      throw error
    }
  }

  // MARK: The map

  /// A node that can be asked about the others.
  var anyAddress: RedisAddress { address(ofSlot: nil) }

  func address(of key: [UInt8]?) -> RedisAddress? { address(ofSlot: key.map(ClusterSlot.of)) }

  private func address(ofSlot slot: Int?) -> RedisAddress {
    let (known, isMissing): (RedisAddress?, Bool) = state.withLock { state in
      guard let slot else { return (state.slots.addresses.randomElement(), state.slots.isEmpty) }
      let address = state.slots[slot]
      return (address ?? state.slots.addresses.randomElement(), address == nil)
    }
    if isMissing { refresh() }
    return known ?? configuration.endpoint.addresses.randomElement() ?? .tcp(host: "", port: 0)
  }

  private func node(at address: RedisAddress) throws(RedisError) -> RedisNode {
    let node: Result<RedisNode, RedisError> = state.withLock { state in
      if state.isClosed { return .failure(.clientClosed) }
      if let node = state.nodes[address] { return .success(node) }
      guard state.nodes.count < SlotMap.maximumNodes else {
        return .failure(
          RedisError(.protocolViolation, "the cluster names more than \(SlotMap.maximumNodes) nodes"))
      }
      let node = RedisNode(configuration, settings) { () throws(RedisError) in address }
      state.nodes[address] = node
      return .success(node)
    }
    return try node.get()
  }

  private func note(slot: Int, at address: RedisAddress) {
    state.withLock { $0.slots[slot] = address }
    refresh()
  }

  /// Asks for the map in the background, once at a time and not too often.
  private func refresh() {
    let isStarting = state.withLock { state in
      let now = configuration.clock.now
      guard !state.isRefreshing, !state.isClosed, state.nextRefresh.map({ $0 <= now }) ?? true else {
        return false
      }
      (state.isRefreshing, state.nextRefresh) = (true, now.advanced(by: Self.refreshPause))
      return true
    }
    guard isStarting else { return }
    Task { await loadMap() }
  }

  private func loadMap() async {
    var map: SlotMap?
    for address in candidates where map == nil { map = try? await loadMap(from: address) }
    let unused: [RedisNode] = state.withLock { state in
      state.isRefreshing = false
      guard let map, !state.isClosed else { return [] }
      state.slots = map
      let kept = map.addresses.union(configuration.endpoint.addresses)
      let unused = state.nodes.filter { !kept.contains($0.key) }
      for address in unused.keys { state.nodes[address] = nil }
      return Array(unused.values)
    }
    for node in unused { node.end() }
  }

  /// Known nodes first, in random order, then the configured ones.
  private var candidates: [RedisAddress] {
    let known = state.withLock { $0.slots.addresses }
    return known.shuffled() + configuration.endpoint.addresses.filter { !known.contains($0) }.shuffled()
  }

  private func loadMap(from address: RedisAddress) async throws -> SlotMap? {
    let command = ["CLUSTER", "SLOTS"].map { Array($0.utf8) }
    let replies = try await node(at: address).pipeline([command], timeout: configuration.requestTimeout)
    return SlotMap(replies[0], from: address)
  }

  /// Ends the connections to all nodes, and returns them.
  func end() -> [RedisConnection] {
    let nodes = state.withLock { state in
      state.isClosed = true
      defer { state.nodes = [:] }
      return Array(state.nodes.values)
    }
    return nodes.flatMap { $0.end() }
  }
}
