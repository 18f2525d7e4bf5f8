// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import Logging
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Sockets that a proxy listens on", .timeLimit(.minutes(10)))
struct ListeningTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

  private static func unix(_ path: String, mode: UInt16? = nil) -> ProxyConfiguration.Endpoint {
    var socket = ProxyConfiguration.UnixSocket(path: path)
    socket.mode = mode
    return .unix(socket)
  }

  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  /// Runs a proxy that listens at `endpoints` while `body` runs.
  private func withProxy(
    _ endpoints: [ProxyConfiguration.Endpoint], admin: ProxyConfiguration.Endpoint? = nil,
    _ configure: (inout ProxyConfiguration) -> Void = { _ in },
    _ body: (ProxyFixture) async throws -> Void
  ) async throws {
    try await ProxyFixture.run(
      {
        $0.listen = endpoints
        $0.admin = admin
        configure(&$0)
      },
      origin: { request, connection in
        let from = request.split(separator: "\r\n").first { $0.hasPrefix("X-Forwarded-For: ") } ?? "none"
        try await connection.send(ok("hello \(from)", "Cache-Control: max-age=60\r\n"))
        return true
      }, body)
  }

  @Test("A proxy serves at several addresses and in the file system at once, and leaves no file behind")
  func several() async throws {
    try await withSocketFolder { folder in
      let (clients, admin) = (folder.path + "/c", folder.path + "/a")
      let any = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)
      try await withProxy([any, any, Self.unix(clients, mode: 0o620)], admin: Self.unix(admin, mode: 0o600)) {
        (proxy: ProxyFixture) in
        #expect(proxy.port != proxy.adminPort)
        for port in [proxy.port, proxy.adminPort] {
          expect(try await RawClient.connect(to: port).exchange(Self.get), contains: "\r\n\r\nhello ")
        }
        let answer = try await RawClient.connect(toUnix: clients).exchange(Self.get)
        expect(answer, contains: "hit")
        // A name that a page could have: no page reaches a socket in the file system.
        expect(
          try await RawClient.connect(toUnix: admin).exchange(Self.get.replacing(" / ", with: " /metrics ")),
          contains: "httpcache_requests_total")
        #expect(try mode(clients) == 0o620 && mode(admin) == 0o600)
      }
      #expect(!exists(clients) && !exists(admin))
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
  }

  @Test(
    "Peers that connect in the file system name clients if they are trusted",
    arguments: [true, false])
  func trusted(isTrusted: Bool) async throws {
    try await withSocketFolder { folder in
      try await withProxy([Self.unix(folder.path + "/c")]) {
        $0.trustsUnixPeers = isTrusted
      } _: { _ in
        let request = Self.get.replacing("\r\n\r\n", with: "\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")
        let answer = try await RawClient.connect(toUnix: folder.path + "/c").exchange(request)
        expect(answer, endsWith: "hello X-Forwarded-For: \(isTrusted ? "192.0.2.1, " : "")unknown")
      }
    }
  }

  @Test("A socket that nothing listens on is replaced; one in use and other files are left alone")
  func occupied() async throws {
    try await withSocketFolder { folder in
      let path = folder.path + "/c"
      func fails(_ path: String) async throws -> String {
        let proxy = CachingProxy(
          ProxyConfiguration(listen: [Self.unix(path)], origin: .init(host: "127.0.0.1", port: 1)),
          cache: try HTTPCache(.init(kind: .shared)),
          logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let error = await #expect(throws: CachingProxy.ListenError.self) { try await proxy.run() }
        return "\(error.map { "\($0)" } ?? "")"
      }
      // Left behind, as by a process that was killed.
      for name in [path, "\(path).\(getpid())"] {
        let left = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
          .bind(unixDomainSocketPath: name + "x").get()
        try FileManager.default.moveItem(atPath: name + "x", toPath: name)
        try await left.close()
        #expect(exists(name))
      }
      try await withProxy([Self.unix(path)]) { _ in
        expect(try await RawClient.connect(toUnix: path).exchange(Self.get), contains: "hello")
        expect(try await fails(path), contains: "another process listens on it; ")
        expect(try await RawClient.connect(toUnix: path).exchange(Self.get), contains: "hello")
      }
      try folder.write("mine", to: "c")
      expect(try await fails(path), contains: "a file that is not a socket has this name; ")
      #expect(try folder.read("c") == "mine")
      expect(try await fails(folder.path + "/none/c"), contains: "the folder does not exist; ")
    }
  }

  @Test("A proxy removes only its own file")
  func replaced() async throws {
    try await withSocketFolder { folder in
      let path = folder.path + "/c"
      var other: (any Channel)?
      try await withProxy([Self.unix(path)]) { _ in
        try FileManager.default.removeItem(atPath: path)
        other = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
          .bind(unixDomainSocketPath: path).get()
      }
      #expect(exists(path))
      try await other?.close()
    }
  }

  @Test("A path may be as long as the configuration allows")
  func longPath() async throws {
    try await withSocketFolder { folder in
      let path = folder.path + "/" + String(repeating: "a", count: 95 - folder.path.utf8.count - 1)
      try await withProxy([Self.unix(path)]) { _ in
        expect(try await RawClient.connect(toUnix: path).exchange(Self.get), contains: "hello")
      }
    }
  }

  @Test("An owner that does not exist is named", arguments: ["owner", "group"])
  func unknownOwner(kind: String) async throws {
    try await withSocketFolder { folder in
      var socket = ProxyConfiguration.UnixSocket(path: folder.path + "/c")
      if kind == "owner" { socket.owner = "no-such-name" } else { socket.group = "no-such-name" }
      let proxy = CachingProxy(
        ProxyConfiguration(listen: [.unix(socket)], origin: .init(host: "127.0.0.1", port: 1)),
        cache: try HTTPCache(.init(kind: .shared)),
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
      let error = await #expect(throws: CachingProxy.ListenError.self) { try await proxy.run() }
      #expect(error?.reason.contains("'no-such-name'; check the \(kind)") == true)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
  }

  @Test("Two proxies listen on one port if both share it")
  func shares() async throws {
    try await withProxy([ProxyConfiguration.Endpoint(host: "127.0.0.1", port: 0)]) {
      $0.reusesPorts = true
    } _: { (first: ProxyFixture) in
      let same = ProxyConfiguration.Endpoint(host: "127.0.0.1", port: first.port)
      try await withProxy([same]) {
        $0.reusesPorts = true
      } _: { (second: ProxyFixture) in
        #expect(second.port == first.port)
        expect(try await RawClient.connect(to: first.port).exchange(Self.get), contains: "hello")
      }
      expect(try await RawClient.connect(to: first.port).exchange(Self.get), contains: "hello")
    }
  }
}
