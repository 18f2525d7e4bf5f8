// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CPlatform
import CacheMutex
import HTTPCaching
import NIOCore
import NIOPosix

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The process whose place this one takes.
///
/// It passes its listening sockets and leaves its directory, and goes on serving until this process does. Then it finishes the
/// requests in flight. Until its end, each of the two tells the other its removals.
package final class Predecessor: Sendable {
  /// Why a process cannot be replaced.
  package struct Fault: Error, CustomStringConvertible {
    package let description: String
  }

  /// The number of its process.
  package let process: Int32
  /// Its pseudonym, if it has sent one.
  let pseudonym: Pseudonym?
  private let link: SuccessionLink
  /// Its listening sockets that this process has not taken.
  private let sockets: Mutex<[ListeningSocket.Name: Sockets]>

  /// The sockets of an endpoint.
  struct Sockets {
    var descriptors: [CInt]
    /// Whether the process has passed them; otherwise this one has opened them.
    var isPassed = true
  }

  private let hasLeft = Atomic<Bool>(false)
  /// Whether it has left the directory that this process opens.
  package var hasLeftDirectory: Bool { hasLeft.load(ordering: .relaxed) }

  private init(_ found: Found, _ link: SuccessionLink) {
    (process, pseudonym, self.link) = (found.process, found.pseudonym, link)
    sockets = Mutex(found.sockets.mapValues { Sockets(descriptors: $0) })
  }

  deinit { close() }

  /// Ends the connection with the process.
  func close() {
    closeSockets()
    link.close()
  }

  // MARK: - Finding it

  /// Time for each answer of the process, in seconds: it may have a slow disk.
  private static let patience = 30

  /// Finds the process that waits for its successor at a socket, and receives its listening sockets.
  ///
  /// - Returns: the process; `nil` if no process waits there.
  /// - Throws: ``Fault`` if the process refuses, or does not answer.
  package static func find(at path: String) async throws -> Predecessor? {
    let found = try await NIOThreadPool.singleton.runIfActive {
      try SocketFile.connect(path).map { try meet($0, path) }
    }
    guard let found else { return nil }
    return try await Predecessor(found)
  }

  /// Meets the process that has started this one, and receives its listening sockets.
  ///
  /// - Parameter descriptor: a socket that leads to it.
  /// - Throws: ``Fault`` if the process refuses, or does not answer.
  package static func meet(at descriptor: CInt) async throws -> Predecessor {
    try await Predecessor(
      try await NIOThreadPool.singleton.runIfActive {
        try meet(descriptor, "the process that has started this one")
      })
  }

  private convenience init(_ found: Found) async throws {
    do {
      let link = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .withConnectedSocket(found.descriptor) { channel in
          channel.eventLoop.makeCompletedFuture { try SuccessionLink(channel) }
        }
      self.init(found, link)
    } catch {
      for socket in found.sockets.values.joined() { closeDescriptor(socket) }
      throw error
    }
  }

  private struct Found {
    var descriptor: CInt
    var process: Int32 = 0
    var pseudonym: Pseudonym?
    var sockets: [ListeningSocket.Name: [CInt]] = [:]
  }

  /// Blocks until the process has answered.
  ///
  /// - Parameter path: what an error calls the process.
  private static func meet(_ descriptor: CInt, _ path: String) throws -> Found {
    var found = Found(descriptor: descriptor)
    do {
      var time = timeval(tv_sec: Self.patience, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
      let hello = SuccessionMessage.hello(version: SuccessionMessage.version, process: getpid()).bytes
      guard local_send(descriptor, hello, hello.count, -1) == hello.count else { throw silence(path) }
      while true {
        let (message, socket) = try receive(descriptor, path)
        switch (message, socket) {
        case (.socket(let name), let socket?):
          found.sockets[ListeningSocket.Name(name), default: []].append(socket)
        case (.pseudonym(let mark), nil): found.pseudonym = Pseudonym(mark: mark)
        case (.sockets(let process), nil):
          found.process = process
          return found
        case (.refused(let reason), _): throw Fault(description: "\(path): \(reason)")
        case (_, let socket):
          if let socket { closeDescriptor(socket) }
        }
      }
    } catch {
      for socket in found.sockets.values.joined() { closeDescriptor(socket) }
      closeDescriptor(descriptor)
      throw error
    }
  }

  private static func silence(_ path: String) -> Fault {
    Fault(description: "\(path): no answer; end the process that listens there")
  }

  /// Receives a message, and the descriptor that came with it.
  private static func receive(
    _ descriptor: CInt, _ path: String
  ) throws -> (message: SuccessionMessage?, socket: CInt?) {
    var socket: CInt = -1
    func bytes(_ count: Int) throws -> [UInt8] {
      var bytes: [UInt8] = []
      while bytes.count < count {
        var (piece, passed) = ([UInt8](repeating: 0, count: count - bytes.count), CInt(-1))
        let received = local_receive(descriptor, &piece, piece.count, &passed)
        if passed >= 0 {
          if socket >= 0 { closeDescriptor(socket) }
          socket = passed
        }
        if received < 0, errno == EINTR { continue }
        guard received > 0 else { throw silence(path) }
        bytes += piece[..<received]
      }
      return bytes
    }
    do {
      guard let (kind, count) = SuccessionMessage.head(try bytes(SuccessionMessage.headCount)) else {
        throw silence(path)
      }
      let message = SuccessionMessage(kind: kind, try bytes(count))
      return (message, socket >= 0 ? socket : nil)
    } catch {
      if socket >= 0 { closeDescriptor(socket) }
      throw error
    }
  }

  // MARK: - Taking its place

  /// Checks a configuration, and opens the sockets that the process has not passed: what fails, fails before the process has
  /// left anything.
  ///
  /// - Throws: ``ProxyConfiguration/ValidationError`` or ``CachingProxy/ListenError``.
  package func prepare(_ configuration: ProxyConfiguration) async throws {
    try CachingProxy.check(configuration)
    if let log = configuration.accessLog { try AccessLog.check(log) }
    var endpoints = configuration.listen.map { (CachingProxy.ListenError.Purpose.clients, $0) }
    endpoints += [
      (.administrators, configuration.admin), (.redirects, configuration.redirect),
      (.successors, configuration.handover.map { .unix($0) }),
    ].compactMap { purpose, endpoint in endpoint.map { (purpose, $0) } }
    for (purpose, endpoint) in endpoints {
      let name = ListeningSocket.Name(purpose, endpoint)
      do {
        guard sockets.withLock({ $0[name] }) == nil else {
          if case .unix(let socket) = endpoint { _ = try SocketFile(taking: socket) }
          continue
        }
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
          .serverChannelOption(.autoRead, value: false)
        let opened = try await ListeningSocket.open(
          endpoint, purpose, bootstrap, backlog: 4096, reusesPort: configuration.reusesPorts,
          except: configuration.inheritedNames, predecessor: nil
        )
        var descriptors: [CInt] = []
        for socket in opened {
          descriptors.append(try await socket.duplicate())
          await socket.close(isPassedOn: true)
        }
        sockets.withLock { [descriptors] in $0[name] = Sockets(descriptors: descriptors, isPassed: false) }
      } catch {
        throw CachingProxy.ListenError(endpoint, purpose, error)
      }
    }
  }

  /// Returns when the process does not use a directory any more. It then serves from memory.
  ///
  /// - Throws: ``Fault`` if it has ended, or does not answer.
  package func leaveDirectory(_ directory: FilePath?) async throws {
    guard let directory else { return }
    guard
      await link.ask(.release(directory: directory.absolute.string), within: .seconds(Int64(Self.patience)))
    else {
      throw Fault(description: "process \(process) has not left the directory \(directory); end it")
    }
    hasLeft.store(true, ordering: .relaxed)
  }

  /// Returns when the process accepts no connections: two that wait at one socket would get in each other's way.
  ///
  /// It goes on to accept them if this process ends before ``replace()``.
  func pause() async { _ = await link.ask(.opening, within: .seconds(Int64(Self.patience))) }

  /// Applies the removals of the process to the cache until it ends. Tell it those of the cache before.
  func follow(_ cache: HTTPCache) async {
    defer { cache.tellNoRemovals(to: self) }
    let isHeir = hasLeftDirectory
    for await message in link.messages {
      guard case .removal(let number, let payload) = message else { continue }
      await BlockingExecutor.run { cache.applyRemoval(payload, from: self, isHeir: isHeir) }
      await cache.haveRemovalsBeenApplied(except: self)
      link.send(.applied(number))
    }
  }

  /// Takes sockets of the process; each once.
  func take(_ name: ListeningSocket.Name) -> Sockets? { sockets.withLock { $0.removeValue(forKey: name) } }

  /// Tells the process that this one serves: it accepts no more connections.
  ///
  /// - Returns: whether it has answered.
  func replace() async -> Bool {
    closeSockets()
    return await link.ask(.serving, within: .seconds(Int64(Self.patience)))
  }

  private func closeSockets() {
    let left = sockets.withLock { sockets in
      defer { sockets = [:] }
      return sockets
    }
    for descriptor in left.values.map(\.descriptors).joined() { closeDescriptor(descriptor) }
  }
}

extension Predecessor: RemovalPeer {
  package func tell(_ payload: [UInt8]) { link.tell(payload) }

  /// A process that does not answer is not waited for again: when it learns that the connection has ended, it serves nothing
  /// that is stored.
  package func hasApplied() async -> Bool {
    if await link.hasApplied() { return true }
    link.close()
    return false
  }
}
