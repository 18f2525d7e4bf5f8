// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CAllocations
import Dispatch
import HTTPCacheProxy
import HTTPCacheStore
import HTTPCaching
import Logging

extension Operation {
  /// A request to a proxy over a socket, one at a time: its event loop does all the work, in a thread of its own.
  ///
  /// The calling thread is the client. It and the origin are not counted.
  public static let throughProxy: [Operation] = [
    proxy("proxy-hit", "max-age=3600"),
    proxy("proxy-not-modified", "max-age=3600", hasTag: true),
    proxy("proxy-connection", "max-age=3600", connects: true),
    proxy("proxy-miss", "max-age=3600", isNew: true),
    proxy("proxy-pass", "no-store"),
    proxy("proxy-validation", "max-age=0"),
  ]

  /// - Parameters:
  ///   - cacheControl: that of the origin's response.
  ///   - isNew: whether each request has another URL.
  ///   - hasTag: whether each request has the entity tag of the response, which is then 304.
  ///   - connects: whether each request has a new connection.
  private static func proxy(
    _ name: String, _ cacheControl: String, isNew: Bool = false, hasTag: Bool = false, connects: Bool = false
  ) -> Operation {
    Operation(name) {
      let proxy = try ProxyOnLoopback(cacheControl: cacheControl)
      let requests = (0..<(isNew ? mostRuns : 1)).map { proxy.request($0, hasTag: hasTag, closes: connects) }
      let connection = try proxy.connect()
      // The first requests of a URL open a connection to the origin, wait for each other, and allocate what is used again.
      for _ in 0..<32 { try proxy.send(proxy.request(0), on: connection) }
      leave_thread_uncounted()
      return { numbers in
        do {
          for number in numbers {
            let request = requests[number % requests.count]
            guard connects else {
              try proxy.send(request, isNotModified: hasTag, on: connection)
              continue
            }
            let connection = try proxy.connect()
            try proxy.send(request, on: connection)
            finish_connection(connection)
          }
        } catch {
          fatalError("\(name): \(error)")
        }
      }
    }
  }
}

/// A proxy with one event loop in front of an origin that always gives the same answer. Both run until the process ends.
private struct ProxyOnLoopback {
  enum Failure: Error { case origin, proxy, connection, response }

  private let port: Int32

  init(cacheControl: String) throws {
    let fields = Samples.head.headerFields.filter { ![.cacheControl, .date, .connection].contains($0.name) }
    func head(_ status: String) -> String {
      // Without `Date`, a response is as old as its arrival.
      "HTTP/1.1 \(status)\r\nCache-Control: \(cacheControl)\r\n"
        + fields.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
    }
    let origin = start_origin(
      head("200 OK") + String(decoding: Samples.body, as: UTF8.self), head("304 Not Modified"))
    guard origin > 0 else { throw Failure.origin }
    var configuration = ProxyConfiguration(
      listen: .init(host: "127.0.0.1", port: 0), origin: .init(host: "127.0.0.1", port: Int(origin)))
    configuration.threads = 1
    let cache = HTTPCache(
      store: try CacheStore(.init(memoryCapacity: 64 << 20)), configuration: .init(kind: .shared))
    let proxy = CachingProxy(
      configuration, cache: cache, logger: Logger(label: "") { _ in SwiftLogNoOpLogHandler() })
    let (isReady, result) = (DispatchSemaphore(value: 0), Result())
    Task { try await proxy.run() }
    Task {
      result.port = await proxy.endpoints()?.first?.port
      isReady.signal()
    }
    isReady.wait()
    guard let port = result.port else { throw Failure.proxy }
    self.port = Int32(port)
  }

  /// Written before the signal, and read after it.
  private final class Result: @unchecked Sendable { var port: Int? }

  /// A browser's request as a C string.
  func request(_ number: Int, hasTag: Bool = false, closes: Bool = false) -> [CChar] {
    let request = Samples.request(number)
    let fields = request.headerFields.map { "\($0.name): \($0.value)\r\n" }.joined()
    let text =
      "GET \(request.path ?? "/") HTTP/1.1\r\nHost: cache.example.com\r\n\(fields)"
      + (hasTag ? "If-None-Match: \(Samples.head.headerFields[.eTag] ?? "")\r\n" : "")
      + (closes ? "Connection: close\r\n" : "") + "\r\n"
    return text.utf8CString.map { $0 }
  }

  func connect() throws -> Int32 {
    let descriptor = connect_to(port)
    guard descriptor >= 0 else { throw Failure.connection }
    return descriptor
  }

  func send(_ request: [CChar], isNotModified: Bool = false, on connection: Int32) throws {
    guard
      exchange(connection, request, isNotModified ? 304 : 200, isNotModified ? 0 : Samples.body.count) == 1
    else { throw Failure.response }
  }
}
