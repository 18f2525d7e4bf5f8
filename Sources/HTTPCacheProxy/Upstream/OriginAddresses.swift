// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import Logging
import NIOCore
import NIOPosix

/// The addresses of a server's name, which are used in turn.
///
/// The name is resolved again after some time, in one attempt for all connections that are being made. If that fails, the
/// last addresses stay in use, and if it takes long, they are used meanwhile: a resolver that is down must not stop the
/// traffic. The system's resolver hides the lifetime of its answers, and has its own cache for it.
final class OriginAddresses: Sendable {
  private struct State {
    /// The last answers, the latest first. Some name servers give each time other addresses of many.
    var answers: [[SocketAddress]] = []
    /// When the last attempt ended; `nil` before the first answer.
    var looked: NIODeadline?
    /// Connections that wait for the attempt.
    var waiting: [EventLoopPromise<[SocketAddress]>] = []
    var isLooking = false
    /// Number of connections so far.
    var turn = 0

    /// Returns the latest addresses; of each family, another one comes first for each connection.
    mutating func take() -> [SocketAddress]? {
      guard let known = answers.first else { return nil }
      turn = turn == .max ? 0 : turn + 1
      return [NIOBSDSocket.ProtocolFamily.inet6, .inet].flatMap { family in
        let ofFamily = known.filter { $0.protocol == family }
        let first = ofFamily.isEmpty ? 0 : turn % ofFamily.count
        return ofFamily[first...] + ofFamily[..<first]
      }
    }

    mutating func takeWaiting() -> [(EventLoopPromise<[SocketAddress]>, [SocketAddress]?)] {
      defer { waiting = [] }
      return waiting.map { ($0, take()) }
    }
  }

  /// Number of answers after which an address is gone that is in none of them.
  private static let memory = 3
  /// How long a connection waits for an attempt while addresses are known.
  private static let patience = TimeAmount.seconds(1)

  let host: String
  let port: Int
  private let lookup: HostLookup
  private let failures: FailureLog
  private let state = Mutex(State())

  init(_ address: ProxyConfiguration.Address, lookup: @escaping HostLookup, logger: Logger) {
    (host, port, self.lookup) = (address.host, address.port, lookup)
    failures = FailureLog(logger, recovery: "the name can be resolved again")
  }

  /// Whether the server still has an address, as far as one is known.
  func contains(_ address: SocketAddress) -> Bool {
    state.withLock { $0.answers.isEmpty || $0.answers.contains { $0.contains(address) } }
  }

  /// Returns all addresses; the one whose turn it is comes first.
  ///
  /// - Parameter time: how long the addresses that were found last are used without another attempt.
  func next(on loop: any EventLoop, within time: TimeAmount) -> EventLoopFuture<[SocketAddress]> {
    let now = loop.now
    let (known, promise, begins) = state.withLock { state in
      let isRecent = state.looked.map { $0 + time > now } ?? false
      // Only the first connection waits.
      if isRecent || state.isLooking, let known = state.take() {
        return (known, nil as EventLoopPromise<[SocketAddress]>?, false)
      }
      defer { state.isLooking = true }
      let promise = loop.makePromise(of: [SocketAddress].self)
      state.waiting.append(promise)
      return ([], promise, !state.isLooking)
    }
    guard let promise else { return loop.makeSucceededFuture(known) }
    if begins {
      let timer = loop.scheduleTask(in: Self.patience) { self.answerKnown() }
      promise.futureResult.whenComplete { _ in timer.cancel() }
      Task { await look(on: loop) }
    }
    return promise.futureResult
  }

  /// Resolves the name, unless that is being done.
  func refresh(on loop: any EventLoop) async {
    let begins = state.withLock { state in
      defer { state.isLooking = true }
      return !state.isLooking
    }
    if begins { await look(on: loop) }
  }

  private func look(on loop: any EventLoop) async {
    var found: [SocketAddress] = []
    var failure = HostLookupFailure(description: "it has no address")
    do {
      found = try await lookup(host, port)
    } catch {
      failure = error as? HostLookupFailure ?? HostLookupFailure(description: "\(error)")
    }
    if found.isEmpty {
      failures.failed("dns_error", "the name '\(host)' of the origin cannot be resolved: \(failure)")
    } else {
      failures.recovered()
    }
    let now = loop.now
    let waiting = state.withLock { state in
      if !found.isEmpty { state.answers = Array(([found] + state.answers).prefix(Self.memory)) }
      // Not asked again for each connection, unless no address is known.
      if !state.answers.isEmpty { state.looked = now }
      state.isLooking = false
      return state.takeWaiting()
    }
    for (promise, addresses) in waiting {
      if let addresses { promise.succeed(addresses) } else { promise.fail(failure) }
    }
  }

  /// Lets connections go that wait for an attempt which takes long.
  private func answerKnown() {
    let waiting = state.withLock { $0.answers.isEmpty ? [] : $0.takeWaiting() }
    for (promise, addresses) in waiting { promise.succeed(addresses ?? []) }
  }

  /// What a connection needs, for `ClientBootstrap`: that tries the addresses of both families (RFC 8305).
  func resolver(on loop: any EventLoop, within time: TimeAmount) -> any Resolver & Sendable {
    Query(addresses: next(on: loop, within: time))
  }

  private struct Query: Resolver, Sendable {
    let addresses: EventLoopFuture<[SocketAddress]>

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
      addresses.map { $0.filter { $0.protocol == .inet } }
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
      addresses.map { $0.filter { $0.protocol == .inet6 } }
    }

    func cancelQueries() {}
  }
}
