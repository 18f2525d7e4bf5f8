// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(FoundationNetworking)
  import Foundation
  import FoundationNetworking
  import HTTPCacheURLSession
  import HTTPTypes
  import Loopback
  import TestSupport
  import Testing

  @Suite("Time limits of Foundation", .timeLimit(.minutes(10)))
  struct LateRedirectTests {
    /// Only Foundation's own timer decides when the redirect is too late, so the test takes as long. The limit is one that
    /// the origin's answer does not miss.
    @Test("A redirect is followed, even if its timeout passed while it waited for the delegate queue")
    func lateRedirect() async throws {
      let limit: TimeInterval = 30
      // The hook runs on the delegate queue, and blocks it until the limit has passed.
      let (isBlocked, isAtOrigin, end) = (Gate(), Gate(), Gate())
      let hasPassed = DispatchSemaphore(value: 0)
      var options = CachingOptions()
      options.authenticate = { _ in
        isBlocked.open()
        hasPassed.wait()
        return (.performDefaultHandling, nil)
      }
      try await Setting.with(options: options) { request in
        switch request.target {
        case "/guarded": return .init(status: 401, fields: [.wwwAuthenticate: "Basic realm=\"home\""])
        case "/from":
          isAtOrigin.open()
          return .init(status: 301, fields: [.location: "/to"], body: "moved")
        case "/never":
          await end.wait()
          return .init()
        default: return .init(fields: [.cacheControl: "max-age=3600"], body: "x")
        }
      } test: { setting async throws in
        // The target is stored, so that the limit applies to the redirect only.
        _ = try await setting.load("/to")
        func request(_ path: String, limit: TimeInterval) throws -> URLRequest {
          var request = try setting.request(path)
          request.timeoutInterval = limit
          return request
        }
        async let guarded = setting.load("/guarded")
        await isBlocked.wait()
        async let followed = setting.load(request("/from", limit: limit))
        await isAtOrigin.wait()
        // A load that began later, and has a longer limit, fails after that of the redirect has passed.
        let plain = URLSession(configuration: .ephemeral)
        let error = await #expect(throws: URLError.self) {
          try await plain.data(for: request("/never", limit: limit + 10))
        }
        #expect(error?.code == .timedOut)
        hasPassed.signal()
        end.open()
        #expect(try await followed.text == "x")
        #expect(try await guarded.response.statusCode == 401)
        plain.finishTasksAndInvalidate()
      }
    }
  }
#endif
