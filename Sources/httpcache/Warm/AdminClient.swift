// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheProxy
import Loopback
import NIOCore
import NIOHTTP1
import TransportSecurity

/// Sends requests to the admin port of a proxy.
struct AdminClient {
  /// The environment variable with the token, which other users of the machine cannot read, unlike the arguments.
  static let tokenVariable = "HTTPCACHE_ADMIN_TOKEN"

  /// Why the port cannot be used.
  struct Fault: Error {
    let text: String
  }

  struct Answer {
    var status: Int
    var content: [UInt8]

    var text: String { String(decoding: content, as: UTF8.self) }
    /// What people need of an error; the rest is about the parameters of the port.
    var firstLine: String { String(decoding: content.prefix { $0 != 0x0A }, as: UTF8.self) }
  }

  /// As it is in messages.
  private let name: String
  private let place: HTTP1Client.Place
  private let host: String
  private let token: String?
  private let encryption: ClientContext?

  /// - Parameters:
  ///   - endpoint: `HOST:PORT`, or `unix:PATH`.
  ///   - tls: `nil` without TLS.
  init(_ endpoint: String, token: String?, tls: ClientTLS?) throws {
    name = endpoint
    switch try ProxyConfiguration.Endpoint(parsing: endpoint) {
    case .address(let address):
      (place, host) = (.address(host: address.host, port: address.port), "\(address)")
    case .unix(let socket): (place, host) = (.socket(socket.path), "localhost")
    case .inherited:
      throw ProxyConfiguration.ValidationError("expected HOST:PORT or unix:PATH, found '\(endpoint)'")
    }
    self.token = token
    encryption = try tls.map { try ClientContext($0) }
  }

  /// Maximum seconds for a response: a list has many URLs to check.
  private static let patience: Int64 = 120

  /// Sends a request, and waits for the response, which is JSON unless it is an error.
  func send(_ method: HTTPMethod, _ target: String, _ content: [UInt8] = []) async throws(Fault) -> Answer {
    var head = HTTPRequestHead(version: .http1_1, method: method, uri: target)
    head.headers.add(name: "Host", value: host)
    head.headers.add(name: "Accept", value: "application/json")
    head.headers.add(name: "Content-Length", value: "\(content.count)")
    head.headers.add(name: "Connection", value: "close")
    if let token { head.headers.add(name: "Authorization", value: "Bearer \(token)") }
    let answer: HTTP1Client.Answer
    do {
      answer = try await HTTP1Client.send(
        head, body: content, to: place, encryption: encryption, within: Self.patience)
    } catch {
      let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
      throw Fault(text: "cannot connect to \(name): \(reason); is it the --admin address of a proxy?")
    }
    guard let head = answer.head, answer.isWhole else {
      throw Fault(text: "\(name) did not answer; is it the --admin address of a proxy, and does it use TLS?")
    }
    return Answer(status: Int(head.status.code), content: answer.body)
  }
}
