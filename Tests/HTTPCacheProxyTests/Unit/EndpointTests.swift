// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheProxy

@Suite("Where a proxy listens")
struct EndpointTests {
  private typealias Endpoint = ProxyConfiguration.Endpoint

  private static func unix(
    _ path: String, mode: UInt16? = nil, owner: String? = nil, group: String? = nil
  ) -> Endpoint {
    var socket = ProxyConfiguration.UnixSocket(path: path)
    (socket.mode, socket.owner, socket.group) = (mode, owner, group)
    return .unix(socket)
  }

  private static let readable: [(String, Endpoint, shown: String)] = [
    ("127.0.0.1:80", Endpoint(host: "127.0.0.1", port: 80), "127.0.0.1:80"),
    ("[::1]:80", Endpoint(host: "::1", port: 80), "[::1]:80"),
    ("unix:8080", unix("8080"), "unix:8080"),
    ("unix:/run/a b.sock", unix("/run/a b.sock"), "unix:/run/a b.sock"),
    ("unix:/run/a,mode=660", unix("/run/a", mode: 0o660), "unix:/run/a"),
    (
      "unix:/run/a,group=www-data,owner=7,mode=0600",
      unix("/run/a", mode: 0o600, owner: "7", group: "www-data"),
      "unix:/run/a"
    ),
    ("systemd", .inherited(nil), "systemd"), ("systemd:web", .inherited("web"), "systemd:web"),
  ]

  @Test("Endpoints are read from text", arguments: readable)
  func reads(text: String, endpoint: ProxyConfiguration.Endpoint, shown: String) throws {
    #expect(try Endpoint(parsing: text) == endpoint)
    #expect("\(endpoint)" == shown)
  }

  @Test(
    "An error says what is expected",
    arguments: [
      ("", "expected an address such as"), ("systemd:", "expected the name of a socket"),
      ("unix:", "expected a path"), ("unix:,mode=660", "expected a path"),
      ("unix:" + String(repeating: "a", count: 96), "at most 95 bytes"),
      ("unix:a,mode=888", "mode: expected permissions"), ("unix:a,mode=1777", "mode: expected permissions"),
      ("unix:a,mode=", "expected mode=660"), ("unix:a,user=b", "expected mode=660"),
      ("unix:a,", "expected mode=660"),
    ])
  func refuses(text: String, expected: String) {
    let error = #expect(throws: ProxyConfiguration.ValidationError.self) { try Endpoint(parsing: text) }
    #expect(error?.description.contains(expected) == true)
  }

  @Test(
    "An admin endpoint in the file system needs no token, and is not inherited; a proxy needs an endpoint")
  func validates() throws {
    var configuration = ProxyConfiguration(
      listen: [.inherited(nil)], origin: .init(host: "127.0.0.1", port: 1))
    configuration.admin = Self.unix("/run/admin")
    try configuration.validate()
    configuration.admin = .inherited(nil)
    #expect(throws: ProxyConfiguration.ValidationError.self) { try configuration.validate() }
    configuration.admin = Self.unix(String(repeating: "a", count: 96))
    #expect(throws: ProxyConfiguration.ValidationError.self) { try configuration.validate() }
    configuration.admin = nil
    configuration.listen = []
    #expect(throws: ProxyConfiguration.ValidationError.self) { try configuration.validate() }
  }

  // MARK: - Sockets of a service manager

  @Test("Inherited sockets are found by their names, each once")
  func inherits() throws {
    let variables = ["LISTEN_FDS": "4", "LISTEN_PID": "7", "LISTEN_FDNAMES": "web:admin:web"]
    var sockets = try InheritedSockets(process: 7) { variables[$0] }
    #expect(try sockets.take("admin") == [4])
    #expect(try sockets.take("web") == [3, 5])
    let error = #expect(throws: InheritedSockets.Fault.self) { try sockets.take("web") }
    #expect(error?.description.contains("web (in use), admin (in use), web (in use), unknown;") == true)
    #expect(sockets.untaken == ["unknown"])
    #expect(throws: InheritedSockets.Fault.self) { try sockets.take(nil, except: ["unknown"]) }
    #expect(try sockets.take(nil) == [6])
    #expect(throws: InheritedSockets.Fault.self) { try sockets.take(nil) }
  }

  @Test(
    "Sockets for another process, or none, are not taken",
    arguments: [
      [:], ["LISTEN_FDS": "1"], ["LISTEN_FDS": "1", "LISTEN_PID": "8"],
      ["LISTEN_FDS": "0", "LISTEN_PID": "7"],
      ["LISTEN_FDS": "x", "LISTEN_PID": "7"], ["LISTEN_FDS": "-1", "LISTEN_PID": "7"],
      ["LISTEN_FDS": "9999999999", "LISTEN_PID": "7"],
    ])
  func refuses(variables: [String: String]) {
    #expect(throws: InheritedSockets.Fault.self) { try InheritedSockets(process: 7) { variables[$0] } }
  }
}
