// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheStore
import HTTPCaching
import Logging
import NIOCore
import NIOPosix

/// Lets another process take the place of this one: it waits for it at a socket in the file system.
///
/// 1. The other process gets the listening sockets. This one still accepts connections.
/// 2. This process leaves the directory, serves from memory and from the origin, and tells the other one each removal.
/// 3. This process accepts no connections, which wait, until the other one does. It ends after the requests in flight.
///
/// If the other process ends before it serves, this one goes on as it is, and waits for another. A directory that it has left it
/// does not take back: what was stored there is for the next process, and removals are applied to it before they are answered.
/// If the other process ends later, nothing tells this one of its removals: it then serves nothing that is stored.
final class Successors: Sendable {
  private enum Phase {
    /// There is none.
    case none
    /// One has the sockets.
    case offered(SuccessionLink)
    /// One serves, and this process ends.
    case replaced
    /// This process has ended.
    case over
  }

  private struct State {
    var phase = Phase.none
    var hasLeftDirectory = false
    /// The link that removals are told to; also the last one, after its end.
    var peer: SuccessionLink?
    var sockets: [ListeningSocket] = []
  }

  private let cache: HTTPCache
  private let logger: Logger
  private let state = Mutex(State())
  /// Called with the number of the other process when that serves.
  private let onReplacement: @Sendable (Int32) -> Void

  init(_ cache: HTTPCache, _ logger: Logger, onReplacement: @escaping @Sendable (Int32) -> Void) {
    (self.cache, self.logger, self.onReplacement) = (cache, logger, onReplacement)
  }

  /// Waits for another process from now on.
  ///
  /// - Parameters:
  ///   - predecessor: the process whose place this one takes.
  ///   - sockets: the listening sockets to pass, besides the one that this call opens.
  func open(
    _ endpoint: ProxyConfiguration.Endpoint, predecessor: Predecessor?, passing sockets: [ListeningSocket]
  ) async throws -> [ListeningSocket] {
    // Not on the loops of the proxy: the other process may still tell removals when those have ended.
    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { [self] channel in
        channel.eventLoop.makeCompletedFuture {
          let link = try SuccessionLink(channel)
          Task { await serve(link) }
        }
      }
    let opened = try await ListeningSocket.open(
      endpoint, .successors, bootstrap, backlog: 16, predecessor: predecessor)
    state.withLock { $0.sockets = sockets + opened }
    return opened
  }

  /// Passes the listening sockets to a process that has no socket to wait at.
  func pass(_ sockets: [ListeningSocket]) { state.withLock { $0.sockets = sockets } }

  /// Returns a socket for a process that this one starts as its successor. Close it when the process has it.
  func invite() async throws -> CInt {
    let (own, other) = try SocketFile.pair()
    do {
      let link = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .withConnectedSocket(own) { channel in
          channel.eventLoop.makeCompletedFuture { try SuccessionLink(channel) }
        }
      Task { await serve(link) }
      return other
    } catch {
      closeDescriptor(other)
      throw error
    }
  }

  /// Ends the connection with the process that has taken the place of this one.
  func close() {
    let peer = state.withLock { state in
      state.phase = .over
      return state.peer
    }
    peer?.close()
  }

  /// Serves a process until it ends.
  private func serve(_ link: SuccessionLink) async {
    var process: Int32 = 0
    for await message in link.messages {
      switch message {
      case .hello(let version, let number):
        process = number
        guard version == SuccessionMessage.version else {
          link.refuse(
            "process \(getpid()) is of another version, which passes nothing on; end it, and start this one then"
          )
          continue
        }
        guard offer(link) else {
          link.refuse("another process is taking the place of process \(getpid()); try again")
          continue
        }
        do {
          try await pass(to: link)
          logger.notice("another process takes the place of this one", metadata: ["process": "\(process)"])
        } catch {
          logger.warning("the listening sockets cannot be passed on", metadata: ["error": "\(error)"])
          link.close()
        }
      case .release(let directory): await release(directory, to: link)
      case .opening:
        guard isOffered(link) else { return link.close() }
        await accept(false)
        link.send(.paused)
      case .serving: replace(by: process, link)
      case .removal(let number, let payload) where state.withLock({ $0.peer === link }):
        await BlockingExecutor.run { self.cache.applyRemoval(payload, from: self, isHeir: false) }
        link.send(.applied(number))
      default: break
      }
    }
    await ended(link, process)
  }

  /// Takes a link, unless there is another.
  private func offer(_ link: SuccessionLink) -> Bool {
    state.withLock { state in
      guard case .none = state.phase else { return false }
      state.phase = .offered(link)
      return true
    }
  }

  private func isOffered(_ link: SuccessionLink) -> Bool {
    state.withLock { if case .offered(let other) = $0.phase { other === link } else { false } }
  }

  /// Accepts connections, or pauses.
  private func accept(_ accepts: Bool) async {
    for socket in state.withLock({ $0.sockets }) { await socket.accept(accepts) }
  }

  private func pass(to link: SuccessionLink) async throws {
    for socket in state.withLock({ $0.sockets }) {
      let descriptor = try await socket.duplicate()
      defer { closeDescriptor(descriptor) }
      try await link.send(.socket(socket.name.text), with: descriptor)
    }
    link.send(.sockets(process: getpid()))
  }

  private func release(_ directory: String, to link: SuccessionLink) async {
    guard isOffered(link) else { return link.close() }
    // Only the process that opens the same directory can remove from it. Another one has its own, and this one keeps its.
    let isShared = cache.directory?.string == directory
    // First, so that no removal is missed.
    state.withLock { state in
      // What one before has not applied.
      for payload in state.peer?.takeRest() ?? [] { link.tell(payload) }
      state.peer = link
      state.hasLeftDirectory = state.hasLeftDirectory || isShared
    }
    cache.tellRemovals(to: self)
    if isShared {
      await BlockingExecutor.run { self.cache.leaveDirectory() }
      logger.notice("the directory is left to another process", metadata: ["directory": "\(directory)"])
    }
    link.send(.released)
  }

  private func replace(by process: Int32, _ link: SuccessionLink) {
    let isReplaced = state.withLock { state in
      guard case .offered(let other) = state.phase, other === link else { return false }
      (state.phase, state.peer, state.sockets) = (.replaced, link, [])
      return true
    }
    guard isReplaced else { return link.close() }
    cache.tellRemovals(to: self)
    logger.notice("another process serves in the place of this one", metadata: ["process": "\(process)"])
    onReplacement(process)
  }

  private func ended(_ link: SuccessionLink, _ process: Int32) async {
    enum Loss {
      case none
      case successor(hasLeftDirectory: Bool)
      case heir
    }
    let loss: Loss = state.withLock { state in
      switch state.phase {
      case .offered(let other) where other === link:
        state.phase = .none
        // Without the directory, there is nothing more to tell.
        if !state.hasLeftDirectory { state.peer = nil }
        return .successor(hasLeftDirectory: state.hasLeftDirectory)
      case .replaced where state.peer === link: return .heir
      case .none, .offered, .replaced, .over: return .none
      }
    }
    switch loss {
    case .none: break
    case .successor(let hasLeftDirectory):
      if !hasLeftDirectory { cache.tellNoRemovals(to: self) }
      await accept(true)
      logger.error(
        hasLeftDirectory
          ? "the process that takes the place of this one has ended; this one serves on from memory, and stores nothing on disk until the next one is started"
          : "the process that takes the place of this one has ended; this one serves on",
        metadata: ["process": "\(process)"])
      _ = await hasApplied()
    case .heir:
      await BlockingExecutor.run { self.cache.close() }
      logger.notice(
        "the process that has taken the place of this one has ended; nothing stored is served any more",
        metadata: ["process": "\(process)"])
      _ = await hasApplied()
    }
  }
}

extension Successors: RemovalPeer {
  func tell(_ payload: [UInt8]) {
    let link = state.withLock { $0.peer }
    link?.tell(payload)
  }

  /// Returns `false` if the removals cannot be applied to the directory, which another process uses.
  func hasApplied() async -> Bool {
    guard let link = state.withLock({ $0.peer }) else { return true }
    guard await link.hasApplied() else { return false }
    guard state.withLock({ $0.hasLeftDirectory }) else { return true }
    let (cache, logger) = (cache, logger)
    return await BlockingExecutor.run {
      link.applyRest { payloads in
        do {
          try HTTPCache.applyRemovals(payloads, toDirectoryOf: cache)
          return true
        } catch {
          logger.error(
            "removals cannot be applied to the directory that this process has left; purge again",
            metadata: ["error": "\(error)", "removals": "\(payloads.count)"])
          return false
        }
      }
    }
  }
}
