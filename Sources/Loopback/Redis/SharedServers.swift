// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if Redis
  import CacheMutex
  import ChildProcesses
  import HTTPCacheRedis

  /// Servers that the tests of a process use one after the other. The first test starts them, and they end with the process.
  ///
  /// ```swift
  /// try await RedisServer.inTurn.with { server in
  ///   server.stop()
  /// }
  /// ```
  package final class SharedServers<Servers: Sendable>: Sendable {
    private struct State {
      var servers: Servers?
      var isTaken = false
      var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let start: @Sendable () async throws -> Servers
    private let reset: @Sendable (Servers) async throws -> Servers?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - start: starts the servers.
    ///   - reset: makes the servers as they were after their start. Returns `nil` if others must take their place.
    package init(
      start: @escaping @Sendable () async throws -> Servers,
      reset: @escaping @Sendable (Servers) async throws -> Servers?
    ) {
      self.start = start
      self.reset = reset
    }

    /// Runs a function that has the servers for itself.
    package func with<Result>(_ body: (Servers) async throws -> Result) async throws -> Result {
      await take()
      defer { giveBack() }
      return try await body(try await prepared())
    }

    private func prepared() async throws -> Servers {
      // Without them after a failure: the next caller starts others.
      var ready: Servers?
      if let used = state.withLock({ $0.servers.take() }) { ready = try? await reset(used) }
      let servers = if let ready { ready } else { try await start() }
      state.withLock { $0.servers = servers }
      return servers
    }

    private func take() async {
      await withCheckedContinuation { continuation in
        let isFree = state.withLock { state in
          if state.isTaken {
            state.waiting.append(continuation)
            return false
          }
          state.isTaken = true
          return true
        }
        if isFree { continuation.resume() }
      }
    }

    private func giveBack() {
      let next: CheckedContinuation<Void, Never>? = state.withLock { state in
        if state.waiting.isEmpty {
          state.isTaken = false
          return nil
        }
        return state.waiting.removeFirst()
      }
      next?.resume()
    }
  }

  // MARK: - Servers that end with the process

  extension RedisServer {
    private static let folders = Mutex<[URL]>([])
    private static let endsWithProcess: Void = {
      _ = atexit {
        RedisServer.killAll()
        for folder in RedisServer.folders.withLock({ $0 }) { try? FileManager.default.removeItem(at: folder) }
      }
    }()

    /// Starts a server in a folder of its own. It ends with ``end()``, or with the process.
    package static func started(
      _ lines: [String] = [], on listener: Listener = .port, port: Int? = nil, mode: String? = nil
    ) async throws -> RedisServer {
      try await RedisServer(in: try makeFolder(), lines, on: listener, port: port, mode: mode)
    }

    /// Makes a folder with a short path, which the end of the process removes.
    package static func makeFolder() throws -> URL {
      _ = endsWithProcess
      let name = "httpcache-redis-\(String(UInt64.random(in: 0..<(.max)), radix: 36))"
      let folder = URL(fileURLWithPath: "/tmp").appendingPathComponent(name)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      folders.withLock { $0.append(folder) }
      return folder
    }

    /// Ends a server for good.
    package func end() async {
      await kill()
      try? FileManager.default.removeItem(at: folder)
    }

    /// Starts the server if a test has killed it, and removes what tests leave: keys, scripts, counts and settings.
    package func reset() async throws {
      resume()
      if processIdentifier == nil {
        try removeData()
        try await start()
      }
      for command in [
        "FLUSHALL", "SCRIPT FLUSH", "ACL LOG RESET", "CONFIG RESETSTAT",
        "CONFIG SET maxmemory 0 maxmemory-policy noeviction",
      ] {
        try await expectOK(command)
      }
    }

    /// Sends a command on a connection of its own, and throws unless the reply is `OK`.
    package func expectOK(_ command: String) async throws {
      let reply = try await send(command)
      guard reply.text == "OK" else { throw Failure(description: "\(command): \(reply)") }
    }

    /// Sends a command on a connection of its own.
    ///
    /// - Parameter command: the command, its words divided by spaces.
    package func send(_ command: String) async throws -> RedisValue {
      var configuration = RedisSharedTier.Configuration(endpoint)
      configuration.connections = 1
      configuration.connectTimeout = .seconds(60)
      let client = try RedisClient(configuration)
      do {
        let reply = try await client.send(
          command.split(separator: " ").map { Array($0.utf8) }, timeout: .seconds(60))
        await client.close()
        return reply
      } catch {
        await client.close()
        throw error
      }
    }

    // MARK: One server for all

    private static let common = Task {
      try await started(["databases 4096", "unixsocket socket"])
    }
    private static let lastDatabase = Atomic(0)

    /// Returns a database that nothing else uses, on the one server that all tests share.
    ///
    /// - Parameter usesSocket: whether the endpoint is the server's Unix domain socket.
    package static func ownDatabase(usesSocket: Bool = false) async throws -> RedisEndpoint {
      let server = try await common.value
      let address =
        usesSocket
        ? RedisAddress.unix(path: server.folder.appendingPathComponent("socket").path) : server.address
      return RedisEndpoint(
        [address], database: lastDatabase.wrappingAdd(1, ordering: .relaxed).newValue)
    }

    /// A server for tests that stop it, kill it, change its settings, or read its counts.
    package static let inTurn = SharedServers(start: { try await started() }) { server in
      try await server.reset()
      return server
    }
  }
#endif
