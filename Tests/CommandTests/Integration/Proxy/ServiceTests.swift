// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPTypes
import Loopback
import TestSupport
import Testing

@testable import httpcache

@Suite("The proxy as a service", .timeLimit(.minutes(10)))
struct ServiceTests {
  /// The socket of a service manager.
  ///
  /// Not a channel of NIO: that does not read messages of senders without an address.
  private struct Manager {
    let messages: AsyncStream<String>

    static func with(at path: String, _ body: (Manager) async throws -> Void) async throws {
      let descriptor = try Self.bind(path)
      let source = DispatchSource.makeReadSource(fileDescriptor: descriptor)
      let (messages, continuation) = AsyncStream.makeStream(of: String.self)
      source.setEventHandler {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        if count > 0 { continuation.yield(String(decoding: bytes.prefix(count), as: UTF8.self)) }
      }
      source.setCancelHandler { close(descriptor) }
      source.resume()
      defer { source.cancel() }
      try await body(Manager(messages: messages))
    }

    private static func bind(_ path: String) throws -> Int32 {
      #if canImport(Darwin)
        let kind = SOCK_DGRAM
      #else
        let kind = Int32(SOCK_DGRAM.rawValue)
      #endif
      let descriptor = socket(AF_UNIX, kind, 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let status = withUnsafePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Foundation.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      try #require(descriptor >= 0 && status == 0)
      return descriptor
    }

    /// Waits for a message that begins like this, and skips others.
    func expects(_ prefix: String) async -> String? {
      for await message in messages where message.hasPrefix(prefix) { return message }
      return nil
    }
  }

  private func arguments(_ more: String...) -> [String] {
    ["proxy", "--origin", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"] + more
  }

  private static var isLinux: Bool {
    #if os(Linux)
      true
    #else
      false
    #endif
  }

  @Test("A service manager hears that the proxy serves, lives, reloads and stops", .enabled(if: isLinux))
  func notifies() async throws {
    try await withSocketFolder { folder in
      let path = folder.path + "/notify"
      try await Manager.with(at: path) { manager in
        let starter = ["/usr/bin/env", "NOTIFY_SOCKET=\(path)", "WATCHDOG_USEC=30000"]
        try await CommandProcess.run(arguments(), by: starter) { proxy in
          let ports = try await proxy.ports()
          #expect(await manager.expects("READY=1") == "READY=1\nSTATUS=serving on 127.0.0.1:\(ports.listen)")
          for _ in 1...3 { #expect(await manager.expects("WATCHDOG=1") == "WATCHDOG=1") }
          proxy.signal(SIGHUP)
          let reloading = await manager.expects("RELOADING=1\nMONOTONIC_USEC=")
          #expect(reloading?.split(separator: "=").last.flatMap { UInt64($0) } ?? 0 > 0)
          #expect(await manager.expects("READY=1") == "READY=1")
          proxy.signal(SIGTERM)
          #expect(await manager.expects("STOPPING=1") != nil)
          #expect(try await proxy.end().status == 0)
        }
      }
    }
  }

  @Test("A service manager hears which process serves in the place of the first", .enabled(if: isLinux))
  func replaced() async throws {
    try await withSocketFolder { folder in
      let path = folder.path + "/notify"
      try await Manager.with(at: path) { manager in
        let option = "--pid-file=\(folder.path)/pid"
        let starter = ["/usr/bin/env", "NOTIFY_SOCKET=\(path)", "WATCHDOG_PID=1", "WATCHDOG_USEC=3000000"]
        try await CommandProcess.run(arguments(option), by: starter) { proxy in
          _ = try await proxy.ports()
          #expect(await manager.expects("READY=1") != nil)
          proxy.signal(SIGUSR2)
          let main = await manager.expects("MAINPID=")
          try await eventually {
            (try? folder.read("pid")).map { main == "MAINPID=\($0.dropLast())" } ?? false
          }
          // The first one was not meant by the manager.
          #expect(await manager.expects("WATCHDOG=1") == "WATCHDOG=1")
          let number = try #require(main.flatMap { Int32($0.dropFirst("MAINPID=".count)) })
          kill(number, SIGTERM)
          #expect(await manager.expects("STOPPING=1") != nil)
          #expect(try await proxy.end().status == 0)
        }
      }
    }
  }

  @Test("A manager whose socket is gone is no reason not to serve", .enabled(if: isLinux))
  func silentManager() async throws {
    let starter = ["/usr/bin/env", "NOTIFY_SOCKET=/nowhere/notify"]
    try await CommandProcess.run(arguments(), by: starter) { proxy in
      _ = try await proxy.ports()
      try await proxy.says("the service manager does not take messages (NOTIFY_SOCKET)")
      proxy.signal(SIGTERM)
      #expect(try await proxy.end().status == 0)
    }
  }

  /// Opens sockets as systemd does, and becomes the command. The last socket is in the file system.
  private static let activation = """
    use Socket; use POSIX (); my ($path) = splice(@ARGV, 0, 1); my @kept;
    for my $number (3, 4, 5) {
      my $socket;
      if ($number < 5) {
        socket($socket, PF_INET, SOCK_STREAM, 0) or die; bind($socket, sockaddr_in(0, inet_aton("127.0.0.1"))) or die;
        print STDERR "port $number=", (sockaddr_in(getsockname($socket)))[0], "\\n";
      } else {
        socket($socket, PF_UNIX, SOCK_STREAM, 0) or die; bind($socket, sockaddr_un($path)) or die;
      }
      listen($socket, 128) or die; push @kept, $socket;
    }
    POSIX::dup2(fileno($kept[$_]), $_ + 20) for 0..2; POSIX::dup2($_ + 20, $_ + 3) for 0..2;
    $ENV{LISTEN_FDS} = 3; $ENV{LISTEN_PID} = $$; $ENV{LISTEN_FDNAMES} = "web:admin:web";
    exec @ARGV;
    """

  @Test("The proxy serves on the sockets that a service manager has opened")
  func inherits() async throws {
    try await LoopbackOrigin.with { _ in
      .init(fields: [.cacheControl: "max-age=60"], body: "hello")
    } _: { origin in
      try await withSocketFolder { folder in
        let path = folder.path + "/web"
        let starter = ["/usr/bin/env", "perl", "-e", Self.activation, path]
        let command = [
          "proxy", "--origin", origin.url(""), "--listen", "systemd:web", "--admin", "127.0.0.1:0",
        ]
        try await CommandProcess.run(command, by: starter) { proxy in
          let port = try await proxy.says("port 3=").split(separator: "=").last.flatMap { Int($0) } ?? 0
          try await proxy.says("serving")
          // The other one was opened in vain.
          #expect(try await proxy.says("no endpoint uses some sockets").contains("names=admin"))
          #expect(try await ProxyPorts.send("GET", "/", "", to: port).hasSuffix("hello"))
          let request = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
          #expect(try await RawClient.connect(toUnix: path).exchange(request).hasSuffix("hello"))
          proxy.signal(SIGTERM)
          #expect(try await proxy.end().status == 0)
        }
      }
    }
  }

  @Test("The ID of the process is in a file while it runs, unless another process has written it")
  func pidFile() async throws {
    try await withTemporaryFolder { folder in
      try folder.write("1\n", to: "pid")
      let option = "--pid-file=\(folder.path)/pid"
      try await CommandProcess.run(arguments(option)) { proxy in
        _ = try await proxy.ports()
        // It is written after the line of the log.
        try await eventually { try folder.read("pid") != "1\n" }
        let number = try #require(Int32(try folder.read("pid").dropLast()))
        #expect(number > 1 && kill(number, 0) == 0)
        try await CommandProcess.run(arguments(option)) { other in
          let port = try await other.ports().listen
          try await eventually { try folder.read("pid") != "\(number)\n" }
          let written = try folder.read("pid")
          proxy.signal(SIGTERM)
          #expect(try await proxy.end().status == 0)
          #expect(try folder.read("pid") == written)
          // One that fails to listen leaves the file alone.
          let late = try await CommandProcess.run([
            "proxy", "--origin", "http://127.0.0.1:1", "--listen", "127.0.0.1:\(port)", option,
          ])
          #expect(late.status == 1)
          #expect(try folder.read("pid") == written)
          other.signal(SIGTERM)
          #expect(try await other.end().status == 0)
        }
        #expect(throws: (any Error).self) { try folder.read("pid") }
      }
    }
  }
}
