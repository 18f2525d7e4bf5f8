// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import TestSupport

/// Where a proxy serves.
struct ProxyPorts {
  var listen: Int
  var admin: Int?

  /// Reads the line that the proxy logs when it serves.
  init?(_ line: String) {
    func port(_ name: String) -> Int? {
      guard let start = line.firstRange(of: " \(name)=") else { return nil }
      let address = line[start.upperBound...].prefix { $0 != " " }
      return address.split(separator: ":").last.flatMap { Int($0) }
    }
    guard let listen = port("listen") else { return nil }
    self.listen = listen
    admin = port("admin")
  }

  func get(_ path: String = "/", _ fields: String = "") async throws -> String {
    try await Self.send("GET", path, fields, to: listen)
  }

  func ask(_ path: String) async throws -> String {
    try await Self.send("GET", path, "", to: admin ?? 0)
  }

  static func send(_ method: String, _ path: String, _ fields: String, to port: Int) async throws -> String {
    try await RawClient.connect(to: port).exchange(
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\(fields)\r\n")
  }
}

extension CommandProcess {
  /// The ports of a proxy, once it serves.
  func ports() async throws -> ProxyPorts {
    let line = try await says(" serving")
    guard let ports = ProxyPorts(line) else { throw Silence(text: "listen=", errors: line) }
    return ports
  }
}
