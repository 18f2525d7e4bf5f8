// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import HTTPCacheAsyncHTTPClient
import HTTPCacheEngine
import HTTPCacheHummingbird
import HTTPCacheProxy
import HTTPCacheRedis
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Hummingbird
import Logging
import Loopback
import NIOCore
import NIOHTTP1

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Options of every child process.
struct RoleOptions: ParsableArguments {
  @Option(
    help:
      "Origin read timeout in milliseconds; a silent origin closes its connection a second later (default: 3000)."
  )
  var silence: Int64 = 3000
}

struct OriginRole: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "origin", shouldDisplay: false)
  @OptionGroup var options: RoleOptions
  @Flag(help: "Have HTTP/2, and no other version.") var http2 = false

  func run() async throws {
    let server = try await Origin(silence: .milliseconds(options.silence + 1000)).start(usesHTTP2: http2)
    put("port=\(server.port)")
    for await _ in commands() {}
    await server.stop()
  }
}

/// Options of both kinds of entry points.
struct EntryPointOptions: ParsableArguments {
  @OptionGroup var role: RoleOptions
  @Option(help: "Port of the origin.") var origin: Int
  @Option(help: "Directory of the disk store (default: none, memory only).") var directory: String?
  @Option(help: "Memory capacity of the cache in MiB.") var memory: Int
  @Option(help: "Redis server of a shared tier (default: none).") var shared: String?

  /// Removes the directory, also where the driver was killed, and the one around it with the last.
  func removeDirectory() {
    guard let directory else { return }
    try? FileManager.default.removeItem(atPath: directory)
    rmdir(URL(fileURLWithPath: directory).deletingLastPathComponent().path)
  }

  func cache(_ kind: CacheEngine.Configuration.Kind) throws -> HTTPCache {
    Allocator.keepCompact()
    var configuration = HTTPCache.Configuration(
      kind: kind, memoryCapacity: memory << 20, diskCapacity: EntryPointSizes.disk,
      directory: directory.map { FilePath($0) })
    configuration.transitCapacity = EntryPointSizes.transit
    if let shared { configuration.sharedTier = HTTPCache.SharedTierOptions(try RedisSharedTier(shared)) }
    return try HTTPCache(configuration)
  }
}

struct ProxyRole: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "proxy", shouldDisplay: false)
  @OptionGroup var options: EntryPointOptions
  @Flag(help: "Use HTTP/2 with the origin.") var originHttp2 = false
  @Flag(help: "Log all of the proxy to standard error.") var verbose = false

  func run() async throws {
    var configuration = ProxyConfiguration(
      listen: ProxyConfiguration.Address(host: "127.0.0.1", port: 0),
      origin: ProxyConfiguration.Address(host: "127.0.0.1", port: options.origin))
    configuration.origin.timeouts.firstByte = .milliseconds(options.role.silence)
    configuration.origin.timeouts.betweenBytes = .milliseconds(options.role.silence)
    // Failures are drawn at random, so some follow each other.
    configuration.origin.limits.failures = nil
    configuration.http2 = .always
    if originHttp2 { configuration.origin.http2 = .always }
    configuration.origin.limits.idleConnections = EntryPointSizes.idleOriginConnections
    let cache = try options.cache(.shared)
    let proxy = CachingProxy(configuration, cache: cache, logger: logger)
    let running = Task { try await proxy.run() }
    put("port=\(await proxy.endpoints()?.first?.port ?? 0)")
    for await command in commands() where command == "report" { put([Column: Int].inside(cache).line) }
    running.cancel()
    try await running.value
    cache.close()
    options.removeDirectory()
  }

  private var logger: Logger {
    guard verbose else { return Logger(label: "soak") { _ in SwiftLogNoOpLogHandler() } }
    var logger = Logger(label: "soak") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .debug
    return logger
  }
}

/// Options of the entry points that run their own clients.
struct InnerOptions: ParsableArguments {
  @OptionGroup var entryPoint: EntryPointOptions
  @Option(help: "Number of clients.") var clients: Int
  @Option(help: "Seed of the requests.") var seed: UInt64
  @Option(name: .customLong("entry-point"), help: "Number of this entry point.") var number: Int

  /// Runs the clients until standard input ends.
  func run(_ cache: HTTPCache, _ load: @escaping InnerClient.Load) async {
    let tally = Tally()
    let draws = Draws(seed: seed, entryPoint: number)
    let client = InnerClient(
      load: load, origin: entryPoint.origin, draws: draws, tally: tally, large: LargeCount())
    put("port=0")
    var running: [Task<Void, Never>] = []
    for await command in commands() {
      switch command {
      case "start": running = (0..<clients).map { _ in Task { await client.run() } }
      case "stop":
        tally.stop()
        for task in running { await task.value }
        put("stopped")
      default:
        var values = [Column: Int].inside(cache)
        (values[.requests], values[.cells]) = (tally.requests, draws.drawnCount)
        for failure in tally.takeFailures() { put("failure " + failure.replacing("\n", with: " ")) }
        put(values.line)
      }
    }
  }
}

struct SessionRole: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "session", shouldDisplay: false)
  @OptionGroup var options: InnerOptions

  func run() async throws {
    let cache = try options.entryPoint.cache(.private)
    let base = URLSessionConfiguration.ephemeral
    // Longer than a silent origin takes to close, so that a slow one on a busy machine does not look silent.
    base.timeoutIntervalForRequest = Double(options.entryPoint.role.silence) / 1000 * 2 + 2
    base.httpMaximumConnectionsPerHost = options.clients
    let session = URLSession(configuration: .caching(with: cache, base: base))
    await options.run(cache) { exchange, origin in
      guard let url = URL(string: "http://127.0.0.1:\(origin)\(exchange.cell.path)") else {
        throw exchange.failure("no URL")
      }
      var request = URLRequest(url: url)
      request.httpMethod = exchange.method
      for (name, value) in exchange.fields { request.setValue(value, forHTTPHeaderField: name) }
      if let content = exchange.requestContent {
        request.httpBody = Data(content.bytes(0..<content.size).readableBytesView)
      }
      let (data, response) = try await session.data(for: request)
      guard let response = response as? HTTPURLResponse else { throw exchange.failure("no HTTP response") }
      return .init(
        status: response.statusCode, field: { response.value(forHTTPHeaderField: $0) },
        content: ArraySlice(data))
    }
    cache.close()
    options.entryPoint.removeDirectory()
  }
}

struct ClientRole: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "client", shouldDisplay: false)
  @OptionGroup var options: InnerOptions

  func run() async throws {
    // A private cache shares no responses.
    let cache = try options.entryPoint.cache(options.entryPoint.shared == nil ? .private : .shared)
    var configuration = HTTPClient.Configuration()
    configuration.timeout = .init(
      connect: .seconds(30), read: .milliseconds(options.entryPoint.role.silence * 2 + 2000))
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = options.clients * 2
    var clientOptions = CachingHTTPClient.Options()
    // As for the proxy.
    clientOptions.failureLimit = nil
    let client = CachingHTTPClient(
      configuration: configuration, redirects: .follow(max: 5), cache: cache, options: clientOptions)
    await options.run(cache) { exchange, origin in
      var request = HTTPClientRequest(url: "http://127.0.0.1:\(origin)\(exchange.cell.path)")
      request.method = HTTPMethod(rawValue: exchange.method)
      for (name, value) in exchange.fields { request.headers.add(name: name, value: value) }
      if let content = exchange.requestContent { request.body = .bytes(content.bytes(0..<content.size)) }
      // Longer than any answer takes; a deadline is another way to leave.
      let response = try await client.execute(request, timeout: .seconds(120))
      let content = try await response.body.collect(upTo: 64 << 20)
      return .init(
        status: Int(response.status.code), field: { response.headers.first(name: $0) },
        content: ArraySlice(content.readableBytesView))
    }
    try await client.shutdown()
    cache.close()
    options.entryPoint.removeDirectory()
  }
}

/// A server whose routes pass on the responses of the origin, behind the cache.
struct RoutesRole: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "routes", shouldDisplay: false)
  @OptionGroup var options: EntryPointOptions

  func run() async throws {
    let cache = try options.cache(.shared)
    var configuration = HTTPClient.Configuration()
    configuration.redirectConfiguration = .disallow
    // Longer than the origin is silent before it closes its connection, as for the other clients.
    configuration.timeout = .init(connect: .seconds(30), read: .milliseconds(options.role.silence * 2 + 2000))
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1000
    let client = HTTPClient(configuration: configuration)
    let router = Router()
    router.add(middleware: CacheMiddleware(cache: cache))
    let origin = options.origin
    for method in [HTTPRequest.Method.get, .head, .post] {
      router.on("**", method: method) { request, _ in try await Self.pass(request, to: origin, client) }
    }
    let (ports, started) = AsyncStream.makeStream(of: Int.self)
    let app = Application(
      responder: router.buildCachingResponder(),
      configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { started.yield($0.localAddress?.port ?? 0) },
      logger: Logger(label: "soak") { _ in SwiftLogNoOpLogHandler() })
    let running = Task { try await app.run() }
    for await port in ports {
      put("port=\(port)")
      break
    }
    for await command in commands() where command == "report" { put([Column: Int].inside(cache).line) }
    running.cancel()
    try? await running.value
    try await client.shutdown()
    cache.close()
    options.removeDirectory()
  }

  private static func pass(_ request: Request, to origin: Int, _ client: HTTPClient) async throws -> Response
  {
    var outgoing = HTTPClientRequest(url: "http://127.0.0.1:\(origin)\(request.head.path ?? "/")")
    outgoing.method = HTTPMethod(rawValue: request.method.rawValue)
    for field in request.headers
    where !["content-length", "transfer-encoding", "connection"].contains(field.name.canonicalName) {
      outgoing.headers.add(name: field.name.rawName, value: field.value)
    }
    if request.method == .post { outgoing.body = .bytes(try await request.body.collect(upTo: 1 << 20)) }
    let isHead = request.method == .head
    // The length of the content is what a GET says.
    if isHead {
      outgoing.method = .GET
      for name in ["Range", "If-Range"] { outgoing.headers.remove(name: name) }
    }
    return try await failing {
      let response = try await client.execute(outgoing, deadline: .distantFuture)
      var fields = HTTPFields()
      for (name, value) in response.headers {
        guard let name = HTTPField.Name(name), name != .transferEncoding, name != .connection else {
          continue
        }
        fields.append(HTTPField(name: name, value: value))
      }
      let status = HTTPResponse.Status(code: Int(response.status.code))
      if isHead || status == .noContent || status == .notModified {
        let content = try await response.body.collect(upTo: 64 << 20)
        var answer = Response(status: status, headers: fields)
        let hasContent = status != .noContent && status != .notModified
        answer.headers[.contentLength] = hasContent ? "\(content.readableBytes)" : nil
        return answer
      }
      let length = fields[.contentLength].flatMap { Int($0) }
      return Response(
        status: status, headers: fields,
        body: ResponseBody(contentLength: length) { writer in
          do {
            for try await buffer in response.body { try await writer.write(buffer) }
          } catch {
            throw HTTPError(.badGateway)
          }
          try await writer.finish(nil)
        })
    }
  }

  /// A gateway's status for an origin that fails.
  private static func failing(_ work: () async throws -> Response) async throws -> Response {
    do {
      return try await work()
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      throw HTTPError(.badGateway)
    }
  }
}

/// One line on standard output, at once.
func put(_ line: String) {
  try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
}

/// The lines on standard input. They end with the driver, and a child ends with them.
private func commands() -> AsyncStream<String> {
  AsyncStream { continuation in
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
  }
}
