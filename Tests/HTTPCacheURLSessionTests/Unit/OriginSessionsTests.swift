// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import Testing

@testable import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("The sessions that talk to origins", .timeLimit(.minutes(10)))
struct OriginSessionsTests {
  private typealias Change = @Sendable (URLSessionConfiguration) -> Void

  private static func key(_ change: Change) -> OriginSessions.Key {
    let configuration = URLSessionConfiguration.default
    change(configuration)
    return .init(configuration, nil)
  }

  private static let changes: [Change] = [
    { $0.timeoutIntervalForRequest = 7 }, { $0.timeoutIntervalForResource = 7 },
    { $0.networkServiceType = .background }, { $0.allowsCellularAccess.toggle() },
    { $0.isDiscretionary.toggle() }, { $0.httpShouldSetCookies.toggle() },
    { $0.httpCookieAcceptPolicy = .never }, { $0.httpMaximumConnectionsPerHost = 2 },
    { $0.httpAdditionalHeaders = ["A": "1"] }, { $0.httpAdditionalHeaders = ["A": "2"] },
    { $0.httpAdditionalHeaders = ["A": "1", "B": "1"] }, { $0.httpCookieStorage = nil },
    { $0.httpCookieStorage = URLSessionConfiguration.ephemeral.httpCookieStorage },
    { $0.urlCredentialStorage = nil },
    { $0.urlCredentialStorage = URLSessionConfiguration.ephemeral.urlCredentialStorage },
    { $0.connectionProxyDictionary = ["HTTPProxy": "a"] }, { $0.protocolClasses = [CustomProtocol.self] },
  ]

  private final class CustomProtocol: URLProtocol {}

  #if canImport(FoundationNetworking)
    @Test("Equal settings have one session, and each other setting has its own")
    func sharing() {
      let sessions = OriginSessions(idleTime: .seconds(600), idleLimit: 100)
      let leases = (1...3).map { _ in sessions.lease(Self.key { _ in }) }
      #expect(sessions.count == 1)
      let others = Self.changes.map { sessions.lease(Self.key($0)) }
      #expect(sessions.count == 1 + Self.changes.count)
      let same = sessions.lease(Self.key { $0.urlCache = nil })
      #expect(sessions.count == 1 + Self.changes.count)
      withExtendedLifetime((leases, others, same)) {}
    }

    @Test("All settings of this version of Foundation are compared")
    func settings() {
      let ignored: Set = [
        "urlCache", "requestCachePolicy", "httpShouldUsePipelining", "shouldUseExtendedBackgroundIdleMode",
      ]
      let names = Mirror(reflecting: URLSessionConfiguration.default).children.compactMap(\.label)
      #expect(Set(names).subtracting(ignored).count == 14, "\(names)")
    }
  #endif

  @Test("A session with a closure for challenges is not shared")
  func challenges() {
    let sessions = OriginSessions(idleTime: .seconds(600), idleLimit: 100)
    let leases = (1...2).map { _ in
      sessions.lease(.init(.default) { _ in (.performDefaultHandling, nil) })
    }
    #expect(sessions.count == 2)
    withExtendedLifetime(leases) {}
  }

  @Test("One timer ends each idle session after its own time, also if it was ended and made again meanwhile")
  func timer() {
    let time = Mutex(Duration.zero)
    let timers = Mutex<[(due: Duration, work: @Sendable () -> Void)]>([])
    let sessions = OriginSessions(
      idleTime: .seconds(30), idleLimit: 1, now: { time.withLock { $0 } },
      schedule: { rest, work in
        let due = time.withLock { $0 } + rest
        timers.withLock { $0.append((due, work)) }
      })
    func advance(to seconds: Int) {
      time.withLock { $0 = .seconds(seconds) }
      while let next = timers.withLock({ waiting in
        waiting.firstIndex { $0.due <= .seconds(seconds) }.map { waiting.remove(at: $0) }
      }) {
        next.work()
      }
    }
    func use(_ value: String) { _ = sessions.lease(Self.key { $0.httpAdditionalHeaders = ["A": value] }) }
    for second in 0..<20 {
      advance(to: second)
      use("\(second % 2)")
      #expect(sessions.count == 1 && timers.withLock { $0.count } == 1)
    }
    advance(to: 48)
    #expect(sessions.count == 1 && timers.withLock { $0.count } == 1)
    advance(to: 49)
    #expect(sessions.count == 0 && timers.withLock { $0.isEmpty })
    use("0")
    #expect(sessions.count == 1 && timers.withLock { $0.count } == 1)
  }

  @Test("The sessions that have been idle for the longest time end, and those in use stay")
  func limit() {
    let sessions = OriginSessions(idleTime: .seconds(600), idleLimit: 2)
    let used = sessions.lease(Self.key { _ in })
    for change in Self.changes { _ = sessions.lease(Self.key(change)) }
    #expect(sessions.count == 3)
    withExtendedLifetime(used) {}
  }
}
