// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import Loopback
import NIOCore
import NIOHPACK
import NIOHTTP2

/// The same requests with HTTP/2: three at a time, each on its stream.
extension ProxyClient {
  func connectHTTP2() async throws {
    let client = try await HTTP2Client.connect(port: port)
    defer { client.channel.close(promise: nil) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          repeat { try await perform(draws.next(), client) } while keepsAlive && !tally.isStopped
        }
      }
      try await group.waitForAll()
    }
  }

  private func perform(_ exchange: Exchange, _ client: HTTP2Client) async throws {
    let start = ContinuousClock.now
    var received = 0
    defer { tally.count() }
    do {
      let stream = try await client.openForReading()
      let alarm = alarm(for: exchange, stream.channel)
      defer { alarm.cancel() }
      try await stream.executeThenClose { inbound, outbound in
        try await send(exchange, outbound)
        try await receive(exchange, inbound, &received)
      }
    } catch is Left {
    } catch let failure as Exchange.Failure {
      throw failure
    } catch {
      try ended(exchange, error, since: start, received)
    }
  }

  private func send(
    _ exchange: Exchange, _ output: NIOAsyncChannelOutboundWriter<HTTP2Frame.FramePayload>
  ) async throws {
    var fields = HTTP2Client.request(
      exchange.cell.path, method: exchange.method, authority: "soak.example",
      exchange.fields.map { ($0.0.lowercasedASCII, $0.1) })
    let content = exchange.requestContent
    if let content, exchange.detail % 2 == 1 { fields.add(name: "content-length", value: "\(content.size)") }
    try await output.write(.headers(.init(headers: fields, endStream: content == nil)))
    guard let content else { return }
    var bytes = ByteBuffer()
    content.write(0..<content.size, to: &bytes)
    // The response may come before the end of the content.
    try? await output.write(.data(.init(data: .byteBuffer(bytes), endStream: true)))
  }

  private func receive(
    _ exchange: Exchange, _ inbound: NIOAsyncChannelInboundStream<HTTP2Frame.FramePayload>,
    _ received: inout Int
  ) async throws {
    var (status, isWhole) = (0, false)
    var check: ContentCheck?
    for try await frame in inbound {
      switch frame {
      case .headers(let head):
        isWhole = head.endStream
        // Trailers, or an interim response.
        guard check == nil, let code = head.headers.first(name: ":status").flatMap({ Int($0) }), code >= 200
        else { continue }
        status = code
        let expected = try exchange.expected(status: status) { head.headers.first(name: $0) }
        if exchange.client == .leaves, exchange.detail % 3 == 0 { throw Left() }
        check = ContentCheck(exchange, expected, status: status)
      case .data(let data):
        isWhole = data.endStream
        if case .byteBuffer(let bytes) = data.data {
          received += bytes.readableBytes
          try await check?.take(bytes)
        }
      default: break
      }
      if isWhole { break }
    }
    guard let check, isWhole else { throw ChannelError.eof }
    if exchange.client != .head, status != 204, status != 304 { try check.end() }
  }
}
