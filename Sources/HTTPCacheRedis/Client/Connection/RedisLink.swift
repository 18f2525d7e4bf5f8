// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import NIOCore

/// A connection to one server that is renewed when it ends.
///
/// The first request makes the connection, and requests wait for it. After an attempt failed, requests fail at once, with
/// the reason, until a later attempt succeeds: nothing is queued while the server cannot be reached. Attempts go on in
/// the background, with growing and random pauses.
final class RedisLink: Sendable {
  typealias Locator = @Sendable () async throws(RedisError) -> RedisAddress

  private enum State {
    /// No request came yet.
    case unused
    /// Takes requests: it is connecting for the first time, or connected.
    case open(RedisConnection)
    /// The last attempt failed. The connection of the next attempt is not used before it is ready.
    case failing(RedisError, next: RedisConnection?)
    case closed
  }

  private struct Shared {
    var state = State.unused
    /// Failed attempts since the last connection that lasted.
    var failures = 0
    var readySince: NIODeadline?
  }

  private let eventLoop: any EventLoop
  private let settings: ConnectionSettings
  private let backoff: Backoff
  private let locate: Locator
  private let shared = Mutex(Shared())

  init(
    on eventLoop: any EventLoop, _ settings: ConnectionSettings, _ backoff: Backoff, locate: @escaping Locator
  ) {
    self.eventLoop = eventLoop
    self.settings = settings
    self.backoff = backoff
    self.locate = locate
  }

  /// Returns the connection for a request.
  func connection() throws(RedisError) -> RedisConnection {
    let (result, isNew): (Result<RedisConnection, RedisError>, Bool) = shared.withLock { shared in
      switch shared.state {
      case .open(let connection): return (.success(connection), false)
      case .failing(let error, _): return (.failure(error), false)
      case .closed: return (.failure(.clientClosed), false)
      case .unused:
        let connection = makeConnection()
        shared.state = .open(connection)
        return (.success(connection), true)
      }
    }
    let connection = try result.get()
    if isNew { connection.open(locate) }
    return connection
  }

  /// The number of commands without a reply; `nil` while the server cannot be reached.
  var load: Int? {
    shared.withLock {
      switch $0.state {
      case .unused: 0
      case .open(let connection): connection.load
      case .failing, .closed: nil
      }
    }
  }

  /// Ends the connection, so that the next one asks again where the server is.
  func renew() {
    let connection: RedisConnection? = shared.withLock {
      guard case .open(let connection) = $0.state, $0.readySince != nil else { return nil }
      return connection
    }
    connection?.end(RedisError(.connectionLost, "the server is not the primary any more"))
  }

  /// Ends the connection and makes no further one. Returns it, if there is one.
  func end() -> RedisConnection? {
    let connection: RedisConnection? = shared.withLock { shared in
      defer { shared.state = .closed }
      switch shared.state {
      case .open(let connection): return connection
      case .failing(_, let next): return next
      case .unused, .closed: return nil
      }
    }
    connection?.end(.clientClosed)
    return connection
  }

  // MARK: Renewal

  private func makeConnection() -> RedisConnection {
    RedisConnection(on: eventLoop, settings) { [self] event in
      switch event {
      case .ready: becameReady()
      case .ended(let error): ended(error)
      }
    }
  }

  private func becameReady() {
    shared.withLock { shared in
      shared.readySince = eventLoop.now
      if case .failing(_, let next?) = shared.state { shared.state = .open(next) }
    }
  }

  private func ended(_ error: RedisError) {
    let pause: TimeAmount? = shared.withLock { shared in
      if case .closed = shared.state { return nil }
      let lasted = shared.readySince.map { eventLoop.now - $0 >= backoff.minimum } ?? false
      shared.readySince = nil
      shared.failures = lasted ? 0 : shared.failures + 1
      // A connection that lasted is renewed at once.
      let pause = lasted ? .zero : backoff.pause(after: shared.failures)
      shared.state = .failing(error, next: nil)
      return pause
    }
    guard let pause else { return }
    guard pause > .zero else { return reconnect() }
    eventLoop.scheduleTask(in: pause) { [self] in reconnect() }
  }

  private func reconnect() {
    let connection: RedisConnection? = shared.withLock { shared in
      guard case .failing(let error, nil) = shared.state else { return nil }
      let connection = makeConnection()
      shared.state = .failing(error, next: connection)
      return connection
    }
    connection?.open(locate)
  }
}

/// The pauses between attempts to connect.
struct Backoff: Sendable {
  var minimum: TimeAmount
  var maximum: TimeAmount

  /// Half of the pause is random, so that the clients of a server that comes back do not come all at once.
  func pause(after failures: Int) -> TimeAmount {
    let doublings = min(max(failures - 1, 0), 20)
    let longest = min(minimum.nanoseconds << doublings, maximum.nanoseconds)
    return .nanoseconds(Int64.random(in: max(longest / 2, 1)...max(longest, 1)))
  }
}
