// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPTypes
import Loopback
import TestSupport
import Testing

@testable import httpcache

@Suite("The proxy as a process", .timeLimit(.minutes(10)))
struct ProxyProcessTests {
  private static let cacheable: HTTPFields = [.cacheControl: "max-age=3600"]

  /// An origin of which everything can be stored, while `body` runs.
  private func withOrigin(
    _ handler: @escaping LoopbackOrigin.Handler = { _ in .init(fields: cacheable, body: "hello") },
    _ body: (LoopbackOrigin) async throws -> Void
  ) async throws {
    try await LoopbackOrigin.with(handler, body)
  }

  private func arguments(_ origin: LoopbackOrigin, _ more: String...) -> [String] {
    ["proxy", "--origin", origin.url(""), "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"] + more
  }

  // MARK: - Starting

  @Test(
    "The proxy starts with options, stores a response, and ends with status 0",
    arguments: [SIGTERM, SIGINT, SIGQUIT])
  func options(signal: Int32) async throws {
    try await withOrigin { origin in
      try await CommandProcess.run(arguments(origin)) { proxy in
        let ports = try await proxy.ports()
        #expect(try await ports.get().contains("fwd=uri-miss"))
        let again = try await ports.get()
        #expect(again.contains("httpcache; hit") && again.hasSuffix("\r\n\r\nhello"))
        #expect(origin.requestCount == 1)
        #expect(try await ports.ask("/health").hasSuffix("\r\n\r\nok\n"))
        #expect(try await ports.ask("/ready").hasSuffix("\r\n\r\nready\n"))
        proxy.signal(signal)
        #expect(try await proxy.end().status == 0)
      }
    }
  }

  @Test("The proxy starts with a file, which the command line overrides", arguments: ["\n", "\r\n"])
  func file(ending: String) async throws {
    try await withOrigin { origin in
      try await withTemporaryFolder { folder in
        let text = """
          # A proxy for a test.
          origin: "\(origin.url(""))"
          listen: 127.0.0.1:0   # any port
          admin: '127.0.0.1:0'
          name: from-the-file
          half-closure: true

          """
        let file = try folder.write(text.replacing("\n", with: ending), to: "proxy.yaml")
        for (more, name) in [([], "from-the-file"), (["--name", "other"], "other")] {
          try await CommandProcess.run(["proxy", "--config", file] + more) { proxy in
            let ports = try await proxy.ports()
            #expect(try await ports.get().contains("Cache-Status: \(name); "))
            #expect(try await ports.ask("/health").hasPrefix("HTTP/1.1 200 "))
          }
        }
      }
    }
  }

  @Test("Responses stored in a directory survive a restart")
  func restart() async throws {
    try await withOrigin { origin in
      try await withTemporaryFolder { folder in
        for outcome in ["fwd=uri-miss", "httpcache; hit"] {
          try await CommandProcess.run(
            arguments(origin, "--directory", "\(folder.path)/cache", "--disk", "64MB")
          ) {
            proxy in
            let ports = try await proxy.ports()
            #expect(try await ports.get().contains(outcome))
            proxy.signal(SIGTERM)
            #expect(try await proxy.end().status == 0)
          }
        }
        #expect(origin.requestCount == 1)
      }
    }
  }

  // MARK: - File descriptors

  @Test("The limit of file descriptors is raised, and bounds the connections of clients if it cannot be")
  func descriptors() async throws {
    try await withOrigin { origin in
      // The soft limit only: no more than it would be enough for three clients.
      try await CommandProcess.run(
        arguments(origin, "--connections", "100"), by: CommandProcess.limiting("-Sn 130")
      ) { proxy in
        _ = try await proxy.ports()
        #expect(!proxy.errorText.contains("file descriptors"))
      }
      try await CommandProcess.run(
        arguments(origin, "--connections", "500"), by: CommandProcess.limiting("-n 256")
      ) { proxy in
        let ports = try await proxy.ports()
        let line = try await proxy.says("500 client connections need 1128 file descriptors")
        #expect(line.contains("may open 256: the proxy accepts 64 connections"))
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 1...300 {
            let idle = try await RawClient.connect(to: ports.listen)
            group.addTask { _ = try? await idle.exchange("") }
          }
          for _ in 1...20 { #expect(try await ports.get("/?\(UUID())").hasSuffix("\r\n\r\nhello")) }
          #expect(try await ports.ask("/health").hasSuffix("\r\n\r\nok\n"))
          #expect(try await ports.ask("/metrics").contains("\nhttpcache_accept_failures_total 0\n"))
          proxy.signal(SIGTERM)
          try await group.waitForAll()
        }
        try await proxy.says("more than 64 client connections: those that are idle longest are closed")
      }
    }
  }

  // MARK: - Ending

  @Test("After SIGTERM requests in flight finish, new clients are refused, and the proxy is unhealthy")
  func drain() async throws {
    let gate = Gate()
    try await withOrigin {
      _ in
      await gate.wait()
      return .init(body: "late")
    } _: { origin in
      defer { gate.open() }
      try await CommandProcess.run(arguments(origin, "--drain-timeout", "3600")) { proxy in
        let ports = try await proxy.ports()
        let answer = try await RawClient.connect(to: ports.listen).exchange(
          "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        ) {
          await gate.arrived(1)
          proxy.signal(SIGTERM)
          try await proxy.says(" stopping")
          // The port closes soon, and with it the connections that wait for a request.
          while let late = try? await RawClient.connect(to: ports.listen) {
            try Task.checkCancellation()
            _ = try? await late.exchange("")
          }
          #expect(try await ports.ask("/health").hasPrefix("HTTP/1.1 503 "))
          #expect(try await ports.ask("/ready").hasPrefix("HTTP/1.1 503 "))
          gate.open()
        }
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("late"), "\(answer)")
        #expect(try await proxy.end().status == 0)
      }
    }
  }

  @Test(
    "A second signal, or the end of --drain-timeout, ends the proxy with requests in flight",
    arguments: [[SIGTERM, SIGTERM], [SIGINT, SIGINT], [SIGTERM, SIGINT], [SIGTERM]])
  func drainEnds(signals: [Int32]) async throws {
    let gate = Gate()
    try await withOrigin {
      _ in
      await gate.wait()
      return .init()
    } _: { origin in
      defer { gate.open() }
      let limit = signals.count == 1 ? "0" : "3600"
      try await CommandProcess.run(arguments(origin, "--drain-timeout", limit)) { proxy in
        let answer = try await RawClient.connect(to: proxy.ports().listen).exchange(
          "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        ) {
          await gate.arrived(1)
          proxy.signal(signals[0])
          if signals.count > 1 {
            try await proxy.says(" stopping")
            proxy.signal(signals[1])
          }
        }
        #expect(answer == "")
        #expect(try await proxy.end().status == 0)
      }
    }
  }

  // MARK: - Signals

  @Test("Other common signals do not end the proxy")
  func ignored() async throws {
    try await withOrigin { origin in
      try await CommandProcess.run(arguments(origin)) { proxy in
        let ports = try await proxy.ports()
        for signal in [SIGHUP, SIGUSR1, SIGPIPE, SIGALRM] { proxy.signal(signal) }
        try await proxy.says("SIGHUP: no configuration file to reload")
        try await proxy.says("SIGUSR1")
        #expect(try await ports.get().hasPrefix("HTTP/1.1 200 "))
      }
    }
  }

  @Test(
    "SIGHUP reads the certificates for the origin again, with and without a configuration file",
    .enabled("needs the command openssl, to make certificates") { await Certificate.canBeMade() },
    arguments: [true, false])
  func certificates(hasFile: Bool) async throws {
    try await withTemporaryFolder { folder in
      let own = try await Certificate.shared(in: folder)
      let other = try await Certificate.shared(in: folder, for: .other)
      let issuers = folder.appendingPathComponent("issuers.pem")
      try FileManager.default.copyItem(at: other.file, to: issuers)
      try await SecureOrigin.with(own, offering: [.http1]) { _ in
        .init(fields: Self.cacheable, body: "hello")
      } test: { origin in
        let url = try origin.url("")
        let file = try folder.write("origin: \(url)\norigin-ca: \(issuers.path)\n", to: "proxy.yaml")
        let settings = hasFile ? ["--config", file] : ["--origin", url, "--origin-ca", issuers.path]
        try await CommandProcess.run(["proxy", "--listen", "127.0.0.1:0"] + settings) { proxy in
          let ports = try await proxy.ports()
          #expect(try await ports.get().contains("error=tls_certificate_error"))
          try FileManager.default.removeItem(at: issuers)
          proxy.signal(SIGHUP)
          try await proxy.says("SIGHUP: the configuration is unchanged: ")
          try FileManager.default.copyItem(at: own.file, to: issuers)
          proxy.signal(SIGHUP)
          try await proxy.says("SIGHUP: certificates and keys were read again")
          #expect(try await ports.get().hasSuffix("\r\n\r\nhello"))
        }
      }
    }
  }

  @Test(
    "SIGHUP reads the certificates for clients again, and takes TLS from a port by a successor",
    .enabled("needs the command openssl, to make certificates") { await Certificate.canBeMade() })
  func listenerCertificates() async throws {
    try await withOrigin { origin in
      try await withTemporaryFolder { folder in
        let own = try await Certificate.shared(in: folder)
        let other = try await Certificate.shared(in: folder, for: .other)
        let base = "origin: \(origin.url(""))\nlisten: 127.0.0.1:0\nhandover: h\n"
        func write(_ certificate: Certificate) throws {
          try folder.write(
            base + "certificate: \(certificate.file.path)\nkey: \(certificate.key.path)\n", to: "proxy.yaml")
        }
        try write(own)
        try await CommandProcess.run(["proxy", "--config", "\(folder.path)/proxy.yaml"], in: folder.path) {
          proxy in
          let ports = try await proxy.ports()
          func presented() async throws -> [UInt8] { try await RawClient.certificate(at: ports.listen) }
          #expect(try await presented() == own.bytes)
          try await proxy.says("names=")
          try write(other)
          proxy.signal(SIGHUP)
          try await proxy.says("SIGHUP: certificates and keys were read again")
          #expect(try await presented() == other.bytes)
          try folder.write(base, to: "proxy.yaml")
          proxy.signal(SIGHUP)
          try await proxy.says("SIGHUP: certificate changes with another process: ")
          try await proxy.says("another process serves in the place of this one")
          #expect(try await ports.get().hasPrefix("HTTP/1.1 200 "))
        }
      }
    }
  }

  @Test("SIGUSR1 reopens the access log")
  func rotation() async throws {
    try await withOrigin { origin in
      try await withTemporaryFolder { folder in
        let log = "\(folder.path)/access.log"
        try await CommandProcess.run(arguments(origin, "--access-log", log)) { proxy in
          let ports = try await proxy.ports()
          _ = try await ports.get("/before")
          try FileManager.default.moveItem(atPath: log, toPath: log + ".1")
          proxy.signal(SIGUSR1)
          try await proxy.says("SIGUSR1: reopening log files")
          _ = try await ports.get("/after")
          proxy.signal(SIGTERM)
          #expect(try await proxy.end().status == 0)
        }
        let (old, new) = (try folder.read("access.log.1"), try folder.read("access.log"))
        #expect(old.contains("GET /before ") && !old.contains("GET /after "), "\(old)")
        #expect(new.contains("GET /after ") && !new.contains("GET /before "), "\(new)")
      }
    }
  }

  @Test("SIGHUP applies what can change in the process, and ignores an invalid file")
  func reload() async throws {
    try await withOrigin { origin in
      try await withTemporaryFolder { folder in
        let base = "origin: \(origin.url(""))\nlisten: 127.0.0.1:0\nadmin: 127.0.0.1:0\n"
        let file = try folder.write(base, to: "proxy.yaml")
        try await CommandProcess.run(["proxy", "--config", file, "--connections", "100"]) { proxy in
          let ports = try await proxy.ports()
          let content = "Content-Length: 3\r\n\r\nabc"
          func post() async throws -> String {
            try await ProxyPorts.send("POST", "/", content, to: ports.listen)
          }
          func purge(_ fields: String = "") async throws -> String {
            try await ProxyPorts.send("POST", "/purge?all", fields, to: ports.admin ?? 0)
          }
          #expect(try await post().hasPrefix("HTTP/1.1 200 "))
          #expect(try await purge().hasPrefix("HTTP/1.1 200 "))
          func settings() async throws -> String { try await ports.ask("/status?configuration") }
          let settingsBefore = try await settings()
          for row in [
            "<td>memory</td><td>256MB</td><td>default</td>",
            "<td>connections</td><td>100</td><td>--connections</td>",
            "<td>listen</td><td>127.0.0.1:0</td><td>\(file):2</td>",
          ] { #expect(settingsBefore.contains(row), "\(settingsBefore)") }

          try folder.write(
            base
              + "trust: [10.0.0.0/8, '::1']\nmaximum-request: 2\nadmin-token: secret\nmemory: 1GB\nlog: debug\nconnections: 1\n",
            to: "proxy.yaml")
          proxy.signal(SIGHUP)
          try await proxy.says("memory has changed: '256MB' before, '1GB' now")
          try await proxy.says("log has changed: 'info' before, 'debug' now")
          try await proxy.says("admin-token has changed")
          try await proxy.says("trust has changed: '' before, '10.0.0.0/8, ::1' now")
          #expect(try await post().hasPrefix("HTTP/1.1 413 "))
          #expect(try await purge().hasPrefix("HTTP/1.1 401 "))
          #expect(try await purge("Authorization: Bearer secret\r\n").hasPrefix("HTTP/1.1 200 "))
          #expect(try await ports.ask("/status").contains("of 1.0 GB"))
          try await proxy.says(" debug httpcache: ")
          // The command line overrides the file, now as before.
          #expect(!proxy.errorText.contains("connections has changed"))
          #expect(!proxy.errorText.contains("secret"))

          try folder.write(base + "memory: lots\n", to: "proxy.yaml")
          proxy.signal(SIGHUP)
          try await proxy.says("the configuration is unchanged: \(file):4: memory: expected a size")
          try FileManager.default.removeItem(atPath: file)
          proxy.signal(SIGHUP)
          try await proxy.says("the configuration is unchanged: cannot read the configuration file \(file)")
          #expect(try await post().hasPrefix("HTTP/1.1 413 "))

          // Defaults return when their lines go.
          try folder.write(base, to: "proxy.yaml")
          proxy.signal(SIGHUP)
          try await proxy.says("memory has changed: '1GB' before, '256MB' now")
          #expect(try await post().hasPrefix("HTTP/1.1 200 "))
          #expect(try await purge().hasPrefix("HTTP/1.1 200 "))
          #expect(!proxy.errorText.contains("another process"))
          try folder.write(base + "memory: 2GB\n", to: "proxy.yaml")
          proxy.signal(SIGHUP)
          try await proxy.says("memory has changed: '256MB' before, '2GB' now")
          #expect(try await settings().contains("<td>memory</td><td>2GB</td><td>\(file):4</td>"))

          proxy.signal(SIGHUP)
          try await proxy.says("nothing has changed in \(file)")
          proxy.signal(SIGTERM)
          #expect(try await proxy.end().status == 0)
        }
      }
    }
  }

  @Test("If the directory is another one, what a successor would change waits for a restart")
  func reloadPairs() async throws {
    try await withOrigin { origin in
      try await withTemporaryFolder { folder in
        let base = "origin: \(origin.url(""))\nlisten: 127.0.0.1:0\n"
        let file = try folder.write(base, to: "proxy.yaml")
        try await CommandProcess.run(["proxy", "--config", file]) { proxy in
          _ = try await proxy.ports()
          try folder.write(
            base + "directory: \(folder.path)/cache\ndisk: 1GB\nadmin: 127.0.0.1:0\nadmin-token: secret\n"
              + "proxy-protocol: true\ntrust: 10.0.0.0/8\nmemory: 1GB\n",
            to: "proxy.yaml")
          proxy.signal(SIGHUP)
          for name in ["admin", "admin-token", "directory", "disk", "proxy-protocol", "trust"] {
            try await proxy.says("SIGHUP: \(name) cannot change without a restart")
          }
          try await proxy.says("memory has changed: '256MB' before, '1GB' now")
          #expect(!proxy.errorText.contains("secret"))
          proxy.signal(SIGTERM)
          #expect(try await proxy.end().status == 0)
        }
      }
    }
  }
}
