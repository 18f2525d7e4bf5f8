// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Hummingbird
import Logging
import NIOCore
import Synchronization

/// Two services that the gateway calls. They would be elsewhere; here, they listen on the loopback.
struct Upstreams: Sendable {
  let prices: Upstream
  let news: Upstream

  init() {
    let price = Mutex("apples 3")
    prices = Upstream { router in
      router.get("prices") { _, _ in
        // Fresh for a second. For a minute more, an error permits the stale response.
        Self.text(price.withLock { $0 }, "max-age=1, stale-if-error=60")
      }
      router.put("prices") { request, _ in
        let text = String(buffer: try await request.body.collect(upTo: 1 << 16))
        price.withLock { $0 = text }
        return Response(status: .noContent)
      }
    }
    news = Upstream { router in
      router.get("news") { _, _ in
        // A slow service.
        try await Task.sleep(for: .milliseconds(300))
        return Self.text("all quiet", "max-age=60")
      }
    }
  }

  private static func text(_ text: String, _ cacheControl: String) -> Response {
    Response(
      status: .ok, headers: [.contentType: "text/plain", .cacheControl: cacheControl],
      body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}

/// A service on a free port of the loopback, which counts its requests.
final class Upstream: Sendable {
  private struct State {
    var port = 0
    var requestCount = 0
    var task: Task<Void, Never>?
  }

  private let state = Mutex(State())
  private let routes: @Sendable (Router<BasicRequestContext>) -> Void

  init(_ routes: @escaping @Sendable (Router<BasicRequestContext>) -> Void) { self.routes = routes }

  func url(_ path: String) -> String { "http://127.0.0.1:\(state.withLock { $0.port })\(path)" }

  var requestCount: Int { state.withLock { $0.requestCount } }

  func start() async {
    await withCheckedContinuation { continuation in
      let router = Router()
      router.add(middleware: Counter { [self] in state.withLock { $0.requestCount += 1 } })
      routes(router)
      let app = Application(
        router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { [self] channel in
          state.withLock { $0.port = channel.localAddress?.port ?? 0 }
          continuation.resume()
        }, logger: Logger(label: "upstream") { _ in SwiftLogNoOpLogHandler() })
      let task = Task {
        do { try await app.run() } catch { print("upstream: \(error)") }
      }
      state.withLock { $0.task = task }
    }
  }

  func stop() async {
    let task = state.withLock { $0.task }
    task?.cancel()
    await task?.value
  }
}

private struct Counter: RouterMiddleware {
  typealias Context = BasicRequestContext
  let count: @Sendable () -> Void

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    count()
    return try await next(request, context)
  }
}
