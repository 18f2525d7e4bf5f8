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
    /// No other process has the sockets.
    case none
    /// One was started, and has said nothing yet.
    case invited(SuccessionLink)
    /// One has the sockets.
    case offered(SuccessionLink)
    /// One has ended before it served, and this process takes back what it has paused.
    case recovering
    /// One serves, and this process ends.
    case replaced
    /// This process has ended.
    case over
  }

  private struct State {
    var phase = Phase.none
    /// The link that removals are told to.
    var peer: SuccessionLink?
    /// The link of the process to which this one has left the directory; also after its end, as it has the removals that are
    /// not applied.
    var heir: SuccessionLink?
    /// All links that are open.
    var links: [ObjectIdentifier: SuccessionLink] = [:]
    var sockets: [ListeningSocket] = []
  }

  private let cache: HTTPCache
  private let pseudonym: Pseudonym
  private let logger: Logger
  private let state = Mutex(State())
  /// Called with the number of the other process when that serves.
  private let onReplacement: @Sendable (Int32) -> Void

  init(
    _ cache: HTTPCache, _ pseudonym: Pseudonym, _ logger: Logger,
    onReplacement: @escaping @Sendable (Int32) -> Void
  ) {
    (self.cache, self.pseudonym, self.logger) = (cache, pseudonym, logger)
    self.onReplacement = onReplacement
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

  /// Returns a socket for a process that this one starts as its successor; `nil` while another process takes its place. Close it
  /// when the process has it.
  ///
  /// - Parameter time: the time that the process has for its first message.
  func invite(within time: TimeAmount) async throws -> CInt? {
    guard case .none = state.withLock({ $0.phase }) else { return nil }
    let (own, other) = try SocketFile.pair()
    do {
      let link = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .withConnectedSocket(own) { channel in
          channel.eventLoop.makeCompletedFuture { try SuccessionLink(channel) }
        }
      let isFirst = state.withLock { state in
        guard case .none = state.phase else { return false }
        state.phase = .invited(link)
        return true
      }
      Task { await serve(link) }
      guard isFirst else {
        link.close()
        closeDescriptor(other)
        return nil
      }
      let timer = link.channel.eventLoop.scheduleTask(in: time) { [self] in
        if isInvited(link) { link.close() }
      }
      link.channel.closeFuture.whenComplete { _ in timer.cancel() }
      return other
    } catch {
      closeDescriptor(other)
      throw error
    }
  }

  /// Whether another process has the sockets: their files are for it.
  var isOffered: Bool { state.withLock { if case .offered = $0.phase { true } else { false } } }

  /// Whether another process has the directory, or had it.
  var hasLeftDirectory: Bool { state.withLock { $0.heir != nil } }

  /// Ends the connections with other processes, and applies the removals that they have not applied.
  func close() async {
    let links = state.withLock { state in
      state.phase = .over
      return state.links.values
    }
    for link in links {
      link.close()
      try? await link.channel.closeFuture.get()
    }
    _ = await hasApplied()
    cache.tellNoRemovals(to: self)
  }

  /// Serves a process until it ends.
  private func serve(_ link: SuccessionLink) async {
    var process: Int32 = 0
    let isOver = state.withLock { state in
      state.links[ObjectIdentifier(link)] = link
      if case .over = state.phase { return true }
      return false
    }
    if isOver { link.close() }
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
      case .opening: await pause(for: link)
      case .serving: replace(by: process, link)
      case .removal(let number, let payload) where state.withLock({ $0.peer === link }):
        await BlockingExecutor.run { self.cache.applyRemoval(payload, from: self, isHeir: false) }
        // Another process may have taken the place of this one's predecessor in the same way.
        await cache.haveRemovalsBeenApplied(except: self)
        link.send(.applied(number))
      default: break
      }
    }
    await ended(link, process)
    state.withLock { $0.links[ObjectIdentifier(link)] = nil }
  }

  /// Takes a link, unless there is another.
  private func offer(_ link: SuccessionLink) -> Bool {
    state.withLock { state in
      switch state.phase {
      case .none: break
      case .invited(let other) where other === link: break
      case .invited, .offered, .recovering, .replaced, .over: return false
      }
      state.phase = .offered(link)
      return true
    }
  }

  private func isInvited(_ link: SuccessionLink) -> Bool {
    state.withLock { if case .invited(let other) = $0.phase { other === link } else { false } }
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
    link.send(.pseudonym(pseudonym.mark))
    link.send(.sockets(process: getpid()))
  }

  /// Maximum time that connections wait for a process which is about to accept them.
  private static let mostPause = TimeAmount.seconds(30)

  /// Accepts no connections until a process serves, or ends.
  private func pause(for link: SuccessionLink) async {
    guard isOffered(link) else { return link.close() }
    // First: from now on, the other process may store what is removed here.
    state.withLock { $0.peer = link }
    cache.tellRemovals(to: self)
    await accept(false)
    let timer = link.channel.eventLoop.scheduleTask(in: Self.mostPause) { [self] in
      if isOffered(link) { link.close() }
    }
    link.channel.closeFuture.whenComplete { _ in timer.cancel() }
    link.send(.paused)
  }

  private func release(_ directory: String, to link: SuccessionLink) async {
    guard isOffered(link) else { return link.close() }
    // Only the process that opens the same directory can remove from it. Another one has its own, and this one keeps its.
    let isShared = cache.directory?.string == directory
    if isShared {
      // First, so that no removal is missed.
      let last = state.withLock { state in
        defer { (state.peer, state.heir) = (link, link) }
        return state.heir
      }
      cache.tellRemovals(to: self)
      await BlockingExecutor.run {
        // What one before has not applied. It may be being applied in its place.
        for payload in last?.takeRest() ?? [] { link.tell(payload) }
        self.cache.leaveDirectory()
      }
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
    link.send(.paused)
    logger.notice("another process serves in the place of this one", metadata: ["process": "\(process)"])
    onReplacement(process)
  }

  private func ended(_ link: SuccessionLink, _ process: Int32) async {
    enum Loss {
      case none
      case invited
      case successor(hasLeftDirectory: Bool)
      case heir
    }
    let loss: Loss = state.withLock { state in
      switch state.phase {
      case .invited(let other) where other === link:
        state.phase = .none
        return .invited
      case .offered(let other) where other === link:
        (state.phase, state.peer) = (.recovering, nil)
        return .successor(hasLeftDirectory: state.heir != nil)
      case .replaced where state.peer === link: return .heir
      case .none, .invited, .offered, .recovering, .replaced, .over: return .none
      }
    }
    switch loss {
    case .none: break
    case .invited:
      logger.error(
        "the process that was started to take the place of this one has ended, or has not answered in time; this one serves on"
      )
    case .successor(let hasLeftDirectory):
      // Without the directory, there is nothing more to tell.
      if !hasLeftDirectory { cache.tellNoRemovals(to: self) }
      await accept(true)
      state.withLock { state in
        if case .recovering = state.phase { state.phase = .none }
      }
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
    let (peer, heir) = state.withLock { ($0.peer, $0.heir) }
    peer?.tell(payload)
    if heir !== peer { heir?.tell(payload) }
  }

  /// Returns `false` if the removals cannot be applied to the directory, which another process uses.
  func hasApplied() async -> Bool {
    let (peer, heir) = state.withLock { ($0.peer, $0.heir) }
    if let peer, !(await peer.hasApplied()) { return false }
    guard let heir else { return true }
    let (cache, logger) = (cache, logger)
    return await BlockingExecutor.run {
      heir.applyRest { payloads in
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
