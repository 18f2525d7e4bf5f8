// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Loopback
import NIOCore
import NIOHPACK
import NIOHTTP1
import TransportSecurity

/// Sends one request with exactly these fields, on its own connection, and waits for the response.
enum LiveClient {
  struct Answer: Sendable {
    var interim: [HTTPResponse] = []
    /// The head; `nil` if the connection ended without a response.
    var head: HTTPResponse?
    var body: [UInt8] = []
    var isWhole = false
  }

  static func send(
    _ request: HTTPRequest, body: [UInt8], to target: LiveRunner.Target, within seconds: Int64
  ) async throws -> Answer {
    if target.usesHTTP2 { return try await sendHTTP2(request, body: body, to: target, within: seconds) }
    var head = HTTPRequestHead(
      version: .http1_1, method: .RAW(value: request.method.rawValue), uri: request.path ?? "/")
    head.headers.add(name: "Host", value: request.authority ?? "")
    for field in request.headerFields { head.headers.add(name: field.name.rawName, value: field.value) }
    if !body.isEmpty, !head.headers.contains(name: "Content-Length") {
      head.headers.add(name: "Content-Length", value: String(body.count))
    }
    // A cache that never answers must not block the run.
    let answer = try await HTTP1Client.send(
      head, body: body, to: .address(host: target.host, port: target.port), encryption: target.encryption,
      within: seconds)
    return Answer(
      interim: answer.interim.map { HTTPResponse($0) }, head: answer.head.map { HTTPResponse($0) },
      body: answer.body, isWhole: answer.isWhole)
  }
}

extension LiveClient {
  private static func sendHTTP2(
    _ request: HTTPRequest, body: [UInt8], to target: LiveRunner.Target, within seconds: Int64
  ) async throws -> Answer {
    let client = try await HTTP2Client.connect(
      host: target.host, port: target.port, encryption: target.encryption, within: seconds)
    let timer = client.channel.eventLoop.scheduleTask(in: .seconds(seconds)) {
      [channel = client.channel] in
      channel.close(promise: nil)
    }
    defer { timer.cancel() }
    var fields = HTTP2Client.request(
      request.path ?? "/", method: request.method.rawValue,
      scheme: target.encryption == nil ? "http" : "https", authority: request.authority ?? "")
    for field in request.headerFields { fields.add(name: field.name.canonicalName, value: field.value) }
    if !body.isEmpty, !fields.contains(name: "content-length") {
      fields.add(name: "content-length", value: String(body.count))
    }
    let received = try await client.send(fields, body: body.isEmpty ? nil : [body])
    await client.close()
    var answer = Answer(
      interim: received.interim.map { HTTPResponse($0) }, head: received.fields.map { HTTPResponse($0) })
    (answer.body, answer.isWhole) = (received.body, received.isWhole)
    return answer
  }
}

extension HTTPResponse {
  fileprivate init(_ fields: HPACKHeaders) {
    self.init(status: .init(code: fields.first(name: ":status").flatMap { Int($0) } ?? 0))
    for (name, value, _) in fields where name.utf8.first != UInt8(ascii: ":") {
      headerFields.append(named: name, value)
    }
  }

  fileprivate init(_ head: HTTPResponseHead) {
    self.init(status: .init(code: Int(head.status.code)))
    for (name, value) in head.headers { headerFields.append(named: name, value) }
  }
}
