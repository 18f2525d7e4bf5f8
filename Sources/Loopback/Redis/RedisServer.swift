// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import TransportSecurity

#if Redis
  import CacheMutex
  import ChildProcesses
  import HTTPCacheRedis

  /// A process of `redis-server` on a free port of 127.0.0.1 or on a Unix domain socket, with its files in a folder.
  ///
  /// ```swift
  /// try await RedisServer.with(["maxmemory 1mb"]) { server in
  ///   let client = try RedisClient(.init(server.endpoint))
  /// }
  /// ```
  package final class RedisServer: Sendable {
    /// Where a server listens.
    package enum Listener: Sendable {
      case port
      case socket
      /// A port with TLS: PEM files of a certificate, which is its own issuer, and of its key.
      case tls(certificate: String, key: String)
    }

    package struct Failure: Error, CustomStringConvertible {
      package var description: String
    }

    /// Whether `redis-server` is on the PATH.
    package static let isInstalled = Program.installed("redis-server") != nil
    package static let howToInstall =
      "redis-server is not installed: run `make prepare`, or install redis-server"

    /// The address at which the server listens.
    package let address: RedisAddress
    /// The address with the options of TLS, if it uses TLS.
    package let endpoint: RedisEndpoint
    /// The folder of the server's data and configuration.
    package let folder: URL

    private let mode: String?
    private let process = Mutex<ChildProcess?>(nil)

    /// Starts a server and waits until it is ready.
    ///
    /// - Parameters:
    ///   - folder: an existing folder for its files. The path of a socket must be short.
    ///   - lines: lines of the configuration. Without any, nothing is kept on disk.
    ///   - listener: where the server listens.
    ///   - port: a port; `nil` for a free one.
    ///   - mode: an option such as `--sentinel`.
    package init(
      in folder: URL, _ lines: [String] = [], on listener: Listener = .port, port: Int? = nil,
      mode: String? = nil
    ) async throws {
      self.folder = folder
      self.mode = mode
      var configuration = [
        "bind 127.0.0.1", "dir \(folder.path)", "daemonize no", "protected-mode no",
      ]
      if mode == nil { configuration += ["save \"\"", "appendonly no", "hz 50"] }
      switch listener {
      case .port:
        let port = try port ?? Self.freePort()
        address = .tcp(host: "127.0.0.1", port: port)
        endpoint = RedisEndpoint([address])
        configuration.append("port \(port)")
      case .socket:
        let path = folder.appendingPathComponent("socket").path
        address = .unix(path: path)
        endpoint = RedisEndpoint([address])
        configuration += ["port 0", "unixsocket \(path)"]
      case .tls(let certificate, let key):
        let port = try port ?? Self.freePort()
        address = .tcp(host: "127.0.0.1", port: port)
        var tls = ClientTLS()
        tls.issuersFile = certificate
        endpoint = RedisEndpoint([address], tls: tls)
        configuration += [
          "port 0", "tls-port \(port)", "tls-cert-file \(certificate)", "tls-key-file \(key)",
          "tls-ca-cert-file \(certificate)", "tls-auth-clients no",
        ]
      }
      let text = (configuration + lines).joined(separator: "\n") + "\n"
      try Data(text.utf8).write(to: configurationFile)
      try await start()
    }

    private var configurationFile: URL { folder.appendingPathComponent("redis.conf") }

    /// Runs a function with a server in a temporary folder, and ends the server.
    package static func with<Result>(
      _ lines: [String] = [], on listener: Listener = .port, _ body: (RedisServer) async throws -> Result
    ) async throws -> Result {
      try await withFolder { folder in
        let server = try await RedisServer(in: folder, lines, on: listener)
        do {
          let result = try await body(server)
          await server.kill()
          return result
        } catch {
          await server.kill()
          throw error
        }
      }
    }

    // MARK: Processes

    /// Starts the server again, with the files of its folder, and waits until it is ready.
    package func start() async throws {
      guard let program = Program.installed("redis-server") else {
        throw Failure(description: Self.howToInstall)
      }
      let process = try ChildProcess(program, [configurationFile.path] + [mode].compactMap { $0 })
      self.process.withLock { $0 = process }
      Self.running.withLock { $0[folder] = process }
      do {
        // The server logs to its standard output.
        for try await line in process.output.lines
        where line.lowercased().contains("ready to accept connections") || line.contains("Sentinel ID is") {
          return
        }
        throw Failure(description: "redis-server did not start: \(process.lastWords)")
      } catch {
        await kill()
        throw error
      }
    }

    /// Ends the process with SIGKILL, also while it is stopped, and waits for its end.
    package func kill() async {
      guard let process = process.withLock({ $0.take() }) else { return }
      Self.running.withLock { $0[folder] = nil }
      await process.stop(patience: .zero)
    }

    /// The process of each folder.
    private static let running = Mutex<[URL: ChildProcess]>([:])

    /// Ends all servers and removes their folders, when the process is about to end.
    package static func killAll() {
      for (folder, process) in running.withLock({ $0 }) {
        process.kill()
        try? FileManager.default.removeItem(at: folder)
      }
    }

    /// Stops the process with SIGSTOP: connections stay open, and nothing is answered.
    package func stop() { signal(SIGSTOP) }

    /// Lets a stopped process go on.
    package func resume() { signal(SIGCONT) }

    /// The process identifier; `nil` if it does not run.
    package var processIdentifier: Int32? { process.withLock { $0?.id } }

    /// Removes the data, so that the next start begins empty.
    package func removeData() throws {
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
      where !["redis.conf", "socket"].contains(name) {
        try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
      }
    }

    private func signal(_ number: Int32) { process.withLock { $0 }?.signal(number) }

    /// Makes a folder with a short path, as that of a socket is limited, and removes it afterwards.
    package static func withFolder<Result>(_ body: (URL) async throws -> Result) async throws -> Result {
      let name = "httpcache-redis-\(String(UInt64.random(in: 0..<(.max)), radix: 36))"
      let folder = URL(fileURLWithPath: "/tmp").appendingPathComponent(name)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      return try await body(folder)
    }
  }

  extension RedisServer {
    /// Ports that this process was given: a port is free again before its server uses it, and while that restarts.
    private static let given = Mutex<Set<Int>>([])

    /// Returns a port of 127.0.0.1 that nothing listens at.
    ///
    /// The system takes the ports of outgoing connections from 32768 on. A server that restarts there may find its port in
    /// use: by a client that connects to it meanwhile, even by the connection to itself.
    ///
    /// - Parameter offset: a second port that must be free too: a node of a cluster uses the port plus 10000.
    package static func freePort(offset: Int? = nil) throws -> Int {
      func isFree(_ port: Int) -> Bool { PortHolder(port, isShared: false) != nil }
      for _ in 0..<1000 {
        let port = Int.random(in: 12_000..<22_000)
        guard isFree(port), offset.map({ isFree(port + $0) }) ?? true,
          given.withLock({ $0.insert(port).inserted })
        else { continue }
        return port
      }
      throw Failure(description: "there is no free port from 12000 to 21999 on 127.0.0.1")
    }
  }
#endif
