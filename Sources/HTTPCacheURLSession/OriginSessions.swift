// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The sessions that talk to origins: one for all sessions with equal settings.
///
/// A session of Foundation has three descriptors on Linux, and the connections that it keeps open. So it is ended when it has
/// been idle for a time, or if too many others are idle.
final class OriginSessions: Sendable {
  static let shared = OriginSessions(idleTime: .seconds(30), idleLimit: 8)

  /// What a session is made from.
  struct Key: Hashable, Sendable {
    fileprivate let configuration: SendableConfiguration
    fileprivate let authenticate: CachingOptions.Authenticate?
    private let settings: SessionSettings
    /// Stands for a session that no other shares.
    private let owner: Owner?

    private final class Owner: Sendable {}

    init(_ configuration: URLSessionConfiguration, _ authenticate: CachingOptions.Authenticate?) {
      let copy = (configuration.copy() as? URLSessionConfiguration) ?? .default
      copy.protocolClasses = copy.protocolClasses?.filter { !($0 is CachingURLProtocol.Type) }
      copy.urlCache = nil
      copy.requestCachePolicy = .reloadIgnoringLocalCacheData
      self.configuration = SendableConfiguration(copy)
      self.authenticate = authenticate
      settings = SessionSettings(copy)
      // A connection that the closure has accepted is not for others.
      owner = authenticate == nil && Platform.comparesAllSettings ? nil : Owner()
    }

    static func == (one: Self, other: Self) -> Bool {
      one.owner === other.owner && one.settings == other.settings
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(settings)
      hasher.combine(owner.map { ObjectIdentifier($0) })
    }
  }

  /// The use of a session for one request.
  final class Lease: Sendable {
    private let key: Key
    private let sessions: OriginSessions
    private let session: OriginSession

    fileprivate init(_ key: Key, _ sessions: OriginSessions, _ session: OriginSession) {
      (self.key, self.sessions, self.session) = (key, sessions, session)
    }

    deinit { sessions.release(key) }

    /// Sends a request; see ``OriginSession``.
    func send(
      _ request: HTTPRequest, body: MessageBody, like template: URLRequest, challenge: BasicChallenge,
      willSend: (@Sendable (URLRequest) throws -> URLRequest)?, progress: HTTPCacheSession.Progress?
    ) async throws -> TransportResponse {
      try await session.send(
        request, body: body, like: template, challenge: challenge, willSend: willSend,
        progress: progress, lease: self)
    }
  }

  private struct Entry {
    let session: OriginSession
    var leases = 0
    /// When the last lease ended.
    var idleSince = Duration.zero
  }

  private struct State {
    var entries: [Key: Entry] = [:]
    /// Whether the timer runs, one for all sessions.
    var isTimed = false
  }

  private let state = Mutex(State())
  private let idleTime: Duration
  private let idleLimit: Int
  private let now: @Sendable () -> Duration
  private let schedule: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

  /// - Parameters:
  ///   - idleTime: the time after which an idle session ends.
  ///   - idleLimit: maximum number of idle sessions; the one that has been idle for the longest time ends.
  ///   - now: returns the time since any moment.
  ///   - schedule: runs a closure after a time.
  init(
    idleTime: Duration, idleLimit: Int, now: (@Sendable () -> Duration)? = nil,
    schedule: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void = { time, work in
      let milliseconds = Int(time / .milliseconds(1)) + 1
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: work)
    }
  ) {
    self.idleTime = idleTime
    self.idleLimit = idleLimit
    let start = ContinuousClock.now
    self.now = now ?? { start.duration(to: .now) }
    self.schedule = schedule
  }

  /// The number of sessions.
  var count: Int { state.withLock { $0.entries.count } }

  /// Returns the session with these settings, for one request.
  func lease(_ key: Key) -> Lease {
    let session = state.withLock { state in
      var entry =
        state.entries[key] ?? Entry(session: OriginSession(key.configuration.value, key.authenticate))
      entry.leases += 1
      state.entries[key] = entry
      return entry.session
    }
    return Lease(key, self, session)
  }

  private func release(_ key: Key) {
    // A session ends when it is released, outside the lock.
    let (ended, needsTimer) = state.withLock { state -> (OriginSession?, Bool) in
      guard var entry = state.entries[key] else { return (nil, false) }
      entry.leases -= 1
      entry.idleSince = now()
      state.entries[key] = entry
      guard entry.leases == 0 else { return (nil, false) }
      let needsTimer = !state.isTimed
      state.isTimed = true
      let idle = state.entries.filter { $0.value.leases == 0 }
      guard idle.count > idleLimit, let oldest = idle.min(by: { $0.value.idleSince < $1.value.idleSince })
      else { return (nil, needsTimer) }
      return (state.entries.removeValue(forKey: oldest.key)?.session, needsTimer)
    }
    if needsTimer { look(after: idleTime) }
    _ = ended
  }

  private func look(after time: Duration) {
    schedule(time) { [weak self] in self?.endIdle() }
  }

  /// Ends the sessions whose time has come, and sets the timer for the next one.
  private func endIdle() {
    let (ended, rest) = state.withLock { state -> ([OriginSession], Duration?) in
      let past = now() - idleTime
      let idle = state.entries.filter { $0.value.leases == 0 }
      let due = idle.filter { $0.value.idleSince <= past }
      for key in due.keys { state.entries[key] = nil }
      let rest = idle.values.map(\.idleSince).filter { $0 > past }.min().map { $0 - past }
      state.isTimed = rest != nil
      return (due.values.map(\.session), rest)
    }
    if let rest { look(after: rest) }
    _ = ended
  }
}
