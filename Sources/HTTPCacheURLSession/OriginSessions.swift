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
    var idleSince = ContinuousClock.now
    /// Whether a timer will look at it.
    var isTimed = false
  }

  private let entries = Mutex<[Key: Entry]>([:])
  private let idleTime: Duration
  private let idleLimit: Int

  /// - Parameters:
  ///   - idleTime: the time after which an idle session ends.
  ///   - idleLimit: maximum number of idle sessions; the one that has been idle for the longest time ends.
  init(idleTime: Duration, idleLimit: Int) {
    self.idleTime = idleTime
    self.idleLimit = idleLimit
  }

  /// The number of sessions.
  var count: Int { entries.withLock { $0.count } }

  /// Returns the session with these settings, for one request.
  func lease(_ key: Key) -> Lease {
    let session = entries.withLock { entries in
      var entry = entries[key] ?? Entry(session: OriginSession(key.configuration.value, key.authenticate))
      entry.leases += 1
      entries[key] = entry
      return entry.session
    }
    return Lease(key, self, session)
  }

  private func release(_ key: Key) {
    // A session ends when it is released, outside the lock.
    let (ended, needsTimer) = entries.withLock { entries -> (OriginSession?, Bool) in
      guard var entry = entries[key] else { return (nil, false) }
      entry.leases -= 1
      guard entry.leases == 0 else {
        entries[key] = entry
        return (nil, false)
      }
      entry.idleSince = .now
      let needsTimer = !entry.isTimed
      entry.isTimed = true
      entries[key] = entry
      let idle = entries.filter { $0.value.leases == 0 }
      guard idle.count > idleLimit, let oldest = idle.min(by: { $0.value.idleSince < $1.value.idleSince })
      else { return (nil, needsTimer) }
      return (entries.removeValue(forKey: oldest.key)?.session, needsTimer)
    }
    if needsTimer { look(at: key, after: idleTime) }
    _ = ended
  }

  private func look(at key: Key, after time: Duration) {
    let milliseconds = Int(time / .milliseconds(1))
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in
      self?.endIfIdle(key)
    }
  }

  private func endIfIdle(_ key: Key) {
    let (ended, rest) = entries.withLock { entries -> (OriginSession?, Duration?) in
      guard let entry = entries[key] else { return (nil, nil) }
      guard entry.leases == 0 else {
        entries[key]?.isTimed = false
        return (nil, nil)
      }
      let rest = idleTime - entry.idleSince.duration(to: .now)
      guard rest <= .zero else { return (nil, rest) }
      return (entries.removeValue(forKey: key)?.session, nil)
    }
    if let rest { look(at: key, after: rest + .milliseconds(1)) }
    _ = ended
  }
}
