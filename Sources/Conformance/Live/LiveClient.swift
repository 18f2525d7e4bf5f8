// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Loopback
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOPosix
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

  private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

  static func send(
    _ request: HTTPRequest, body: [UInt8], to target: LiveRunner.Target, within seconds: Int64
  ) async throws -> Answer {
    if target.usesHTTP2 { return try await sendHTTP2(request, body: body, to: target, within: seconds) }
    let connection = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connect(host: target.host, port: target.port) { channel in
        channel.eventLoop.makeCompletedFuture {
          // A handshake that fails closes the channel.
          _ = try target.encryption?.encrypt(
            channel, to: target.host, by: channel.eventLoop.now + .seconds(seconds))
          try channel.pipeline.syncOperations.addHandlers([
            HTTPRequestEncoder(),
            ByteToMessageHandler(
              HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward)),
          ])
          return try Connection(wrappingChannelSynchronously: channel)
        }
      }
    // A cache that never answers must not block the run.
    let timer = connection.channel.eventLoop.scheduleTask(in: .seconds(seconds)) {
      [channel = connection.channel] in
      channel.close(promise: nil)
    }
    defer { timer.cancel() }
    return try await connection.executeThenClose { inbound, outbound in
      var head = HTTPRequestHead(
        version: .http1_1, method: .RAW(value: request.method.rawValue), uri: request.path ?? "/")
      head.headers.add(name: "Host", value: request.authority ?? "")
      for field in request.headerFields { head.headers.add(name: field.name.rawName, value: field.value) }
      if !body.isEmpty, !head.headers.contains(name: "Content-Length") {
        head.headers.add(name: "Content-Length", value: String(body.count))
      }
      try await outbound.write(.head(head))
      if !body.isEmpty { try await outbound.write(.body(.byteBuffer(ByteBuffer(bytes: body)))) }
      try await outbound.write(.end(nil))
      var answer = Answer()
      do {
        for try await part in inbound {
          switch part {
          case .head(let received):
            let head = HTTPResponse(received)
            if head.status.kind == .informational { answer.interim.append(head) } else { answer.head = head }
          case .body(let buffer): answer.body += buffer.readableBytesView
          case .end:
            // NIO ends an interim response, too.
            guard answer.head != nil else { continue }
            answer.isWhole = true
            return answer
          }
        }
      } catch {
        // A broken connection is recorded in the answer.
      }
      return answer
    }
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

  init(_ head: HTTPResponseHead) {
    self.init(status: .init(code: Int(head.status.code)))
    for (name, value) in head.headers { headerFields.append(named: name, value) }
  }
}
