// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// On Apple platforms, the tests of this module meet Foundation itself.
#if canImport(FoundationNetworking)
  import CacheMutex
  import Foundation
  import FoundationNetworking
  import HTTPCacheEngine
  import HTTPCacheStore
  import HTTPCaching
  import HTTPTypes
  import Loopback
  import TestSupport
  import Testing

  @testable import HTTPCacheURLSession

  /// What differs on Apple platforms, with a client that behaves as Apple documents it.
  @Suite("A client as Apple documents it", .timeLimit(.minutes(10)))
  struct DocumentedClientTests {
    private static let right = "Basic " + Data("ann:secret".utf8).base64EncodedString()
    private static let long = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    /// Where the answer comes from.
    enum Source: String, CaseIterable, Sendable {
      case memory, disk, origin, broken, guarded, nothing

      var path: String { "/\(rawValue)" }

      /// The calls of a client: each may stop the load.
      var calls: [(kind: DocumentedTask.Kind, ordinal: Int)] {
        switch self {
        case .memory: [(.response, 1), (.content, 1), (.end, 1)]
        case .disk, .origin: [(.response, 1), (.content, 1), (.content, 2), (.end, 1)]
        case .broken: [(.response, 1), (.content, 1), (.failure, 1)]
        case .guarded: [(.challenge, 1), (.response, 1), (.content, 1), (.content, 2), (.end, 1)]
        case .nothing: [(.failure, 1)]
        }
      }
    }

    private static func answer(_ request: LoopbackOrigin.Request) -> LoopbackOrigin.Response {
      switch Source(rawValue: String(request.target.dropFirst())) {
      case .memory: .init(fields: [.cacheControl: "max-age=60"], body: "content")
      case .disk: .init(fields: [.cacheControl: "max-age=60"], bytes: long)
      case .broken:
        .init(fields: [.cacheControl: "no-store"], bytes: long, ending: .cut(afterBytes: 700_000))
      case .guarded where request.fields[.authorization] != right:
        .init(status: 401, fields: [.wwwAuthenticate: "Basic realm=\"home\""], body: "who is it?")
      default: .init(fields: [.cacheControl: "no-store"], bytes: long, isChunked: true)
      }
    }

    private static func reply(_ challenge: URLAuthenticationChallenge) -> DocumentedTask.Reply {
      .use(password: "secret")
    }

    /// Runs a test with a cache that has what the sources need.
    private func with(
      _ test: (HTTPCache, _ request: (Source) throws -> URLRequest, LoopbackOrigin) async throws -> Void
    ) async throws {
      try await withTemporaryDirectory { directory in
        let cache = try HTTPCache(
          .init(memoryCapacity: 16 << 20, diskCapacity: 64 << 20, directory: directory))
        try await LoopbackOrigin.with(Self.answer) { origin in
          func request(_ source: Source) throws -> URLRequest {
            URLRequest(
              url: try #require(URL(string: origin.url(source.path))),
              cachePolicy: source == .nothing ? .returnCacheDataDontLoad : .useProtocolCachePolicy)
          }
          for source in [Source.memory, .disk] {
            if source == .memory { cache.clearMemory() }
            await DocumentedTask(cache).run(try request(source))
          }
          try await test(cache, request, origin)
        }
        cache.close()
      }
    }

    @Test("Each call of the client may stop the load, and no other follows", arguments: Source.allCases)
    func stopped(source: Source) async throws {
      try await with { cache, request, _ in
        for (index, call) in source.calls.enumerated() {
          let task = DocumentedTask(cache, stoppedIn: call, reply: Self.reply)
          await task.run(try request(source))
          let calls = source.calls[...index].map(\.kind)
          if call.kind == .end || call.kind == .failure {
            #expect(task.kinds.last == call.kind && task.kinds.first == calls.first)
          } else {
            #expect(task.kinds == calls)
          }
          #expect(!task.hasWrongCall)
          // The next load is as if there had been none.
          let next = DocumentedTask(cache, reply: Self.reply)
          await next.run(try request(source))
          #expect(next.kinds.last == source.calls.last?.kind && !next.hasWrongCall)
          switch source {
          case .memory: #expect(next.content == Data("content".utf8))
          case .nothing: #expect((next.error as? URLError)?.code == .resourceUnavailable)
          case .broken: #expect(Array(next.content) == Array(Self.long.prefix(next.content.count)))
          default: #expect(Array(next.content) == Self.long)
          }
          if source == .memory || source == .disk { #expect(next.response?.cacheStatus?.source == .hit) }
        }
      }
    }

    @Test("Content is passed on as it arrives: the client has it before the response ends")
    func streamed() async throws {
      try await Setting.with { _ in
        .init(fields: [.cacheControl: "no-store"], body: "abc", ending: .open, isChunked: true)
      } test: { setting async throws in
        let task = DocumentedTask(setting.cache, stoppedIn: (.content, 1))
        await task.run(try setting.request())
        #expect(task.kinds == [.response, .content] && !task.hasWrongCall)
        #expect(task.content == Data("abc".utf8))
      }
    }

    @Test("The client gets the last response of a redirect, and no redirect")
    func redirected() async throws {
      try await Setting.with { request in
        request.target == "/from"
          ? .init(status: 302, fields: [.location: "/to"])
          : .init(fields: [.cacheControl: "no-store"], body: "there")
      } test: { setting async throws in
        let task = DocumentedTask(setting.cache)
        await task.run(try setting.request("/from"))
        #expect(task.kinds == [.response, .content, .end] && !task.hasWrongCall)
        #expect(task.response?.url?.path == "/to" && task.content == Data("there".utf8))
      }
    }

    @Test("The content of a request is a stream, and its settings reach the request to the origin")
    func settings() async throws {
      let seen = Mutex<[String]>([])
      var options = CachingOptions()
      options.willSend = { request in
        seen.withLock {
          $0 = [
            "\(request.timeoutInterval)", "\(request.allowsCellularAccess)",
            "\(request.networkServiceType.rawValue)",
          ]
        }
        return request
      }
      try await Setting.with { request in
        .init(body: "\(request.method) \(String(decoding: request.body, as: UTF8.self))")
      } test: { setting async throws in
        var request = try setting.request(method: "POST", body: Data("content".utf8))
        request.timeoutInterval = 321
        request.allowsCellularAccess = false
        request.networkServiceType = .background
        let task = DocumentedTask(setting.cache, options: options)
        await task.run(request)
        #expect(task.content == Data("POST content".utf8) && !task.hasWrongCall)
        #expect(
          seen.withLock { $0 } == [
            "321.0", "false", "\(URLRequest.NetworkServiceType.background.rawValue)",
          ])
      }
    }

    // MARK: - Challenges

    @Test(
      "The client answers a challenge",
      arguments: zip(
        [
          DocumentedTask.Reply.use(password: "secret"), .use(password: "wrong"), .goOnWithout,
          .handleByDefault, .reject,
          .cancel,
        ], [200, 401, 401, 401, 401, nil]))
    func challenge(reply: DocumentedTask.Reply, status: Int?) async throws {
      try await Setting.with { request in
        Self.answer(.init(copying: request, target: "/guarded"))
      } test: { setting async throws in
        let task = DocumentedTask(setting.cache) { _ in reply }
        await task.run(try setting.request())
        #expect(!task.hasWrongCall && task.response?.statusCode == status)
        if status == nil {
          // As in a session without a cache.
          #expect(task.kinds == [.challenge, .failure])
          #expect((task.error as? URLError)?.code == .cancelled)
        } else {
          #expect(task.kinds.first == .challenge && task.kinds.last == .end)
          #expect(task.content == (status == 200 ? Data(Self.long) : Data("who is it?".utf8)))
        }
      }
    }

    @Test("A challenge that the client leaves to Foundation is answered by the session's storage")
    func storage() async throws {
      try await Setting.with { request in
        Self.answer(.init(copying: request, target: "/guarded"))
      } test: { setting async throws in
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(
          URLCredential(user: "ann", password: "secret", persistence: .forSession),
          for: URLProtectionSpace(
            host: "127.0.0.1", port: setting.origin.port, protocol: "http", realm: "home",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic))
        let base = URLSessionConfiguration.ephemeral
        base.urlCredentialStorage = storage
        let task = DocumentedTask(setting.cache, base: base)
        await task.run(try setting.request())
        #expect(task.response?.statusCode == 200 && task.kinds.first == .challenge)
      }
    }

    @Test("The challenges count the refused credentials, and the third is the last")
    func refusals() async throws {
      for (right, status) in [(2, 200), (9, 401)] {
        try await Setting.with { request in
          Self.answer(.init(copying: request, target: "/guarded"))
        } test: { setting async throws in
          let task = DocumentedTask(setting.cache) { challenge in
            let count = challenge.previousFailureCount
            return .use(password: count == right ? "secret" : "wrong \(count)")
          }
          await task.run(try setting.request())
          #expect(task.response?.statusCode == status)
          #expect(task.refusals.all == (status == 200 ? [0, 1, 2] : [0, 1, 2, 3]))
        }
      }
    }

    @Test("The option authenticate answers instead of the client")
    func option() async throws {
      var options = CachingOptions()
      options.authenticate = { _ in
        (.useCredential, URLCredential(user: "ann", password: "secret", persistence: .none))
      }
      try await Setting.with { request in
        Self.answer(.init(copying: request, target: "/guarded"))
      } test: { setting async throws in
        let task = DocumentedTask(setting.cache, options: options) { _ in .cancel }
        await task.run(try setting.request())
        #expect(task.response?.statusCode == 200 && !task.kinds.contains(.challenge))
      }
    }

    @Test(
      "If a client is gone before it answers, a load that waits for the same response asks its own client")
    func coalesced() async throws {
      let gate = Gate()
      try await Setting.with { request in
        if request.number == 1 { await gate.wait() }
        return Self.answer(.init(copying: request, target: "/guarded"))
      } test: { setting async throws in
        let leader = DocumentedTask(setting.cache, stoppedIn: (.challenge, 1)) { _ in .nothing }
        leader.start(try setting.request())
        await gate.arrived(1)
        let other = DocumentedTask(setting.cache, reply: Self.reply)
        other.start(try setting.request())
        try await setting.cache.fetches.followers(1)
        gate.open()
        await leader.finish()
        await other.finish()
        #expect(leader.kinds == [.challenge] && !leader.hasWrongCall)
        #expect(other.kinds.first == .challenge && other.response?.statusCode == 200)
        #expect(Array(other.content) == Self.long && !other.hasWrongCall)
      }
    }
  }

  extension LoopbackOrigin.Request {
    /// Copies a request with another target.
    fileprivate init(copying other: LoopbackOrigin.Request, target: String) {
      self = other
      self.target = target
    }
  }
#endif
