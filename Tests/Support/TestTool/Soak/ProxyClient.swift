// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix

/// A client of the proxy entry point, which checks every byte of framing and content: on raw sockets, or with HTTP/2.
struct ProxyClient: Sendable {
  typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

  let port: Int
  let draws: Draws
  let tally: Tally
  /// Whether the next request goes over the same connection.
  let keepsAlive: Bool
  /// Whether requests are sent with HTTP/2.
  let usesHTTP2: Bool
  /// How long an answer may take before it counts as a hang; one with 5 MB may take twice as long.
  let patience: Duration

  /// Makes requests until told to stop.
  func run() async {
    while !tally.isStopped {
      do {
        if usesHTTP2 { try await connectHTTP2() } else { try await connect() }
      } catch let failure as Exchange.Failure {
        tally.fail(failure.description)
      } catch {
        // The next round says whether the entry point is gone.
        tally.fail("no connection to the proxy: \(error)")
        try? await Task.sleep(for: .milliseconds(200))
      }
    }
  }

  private func connect() async throws {
    let connection = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelOption(.socketOption(.tcp_nodelay), value: 1)
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture { try Connection(wrappingChannelSynchronously: channel) }
      }
    let channel = connection.channel
    do {
      try await connection.executeThenClose { inbound, outbound in
        var reader = MessageReader(inbound)
        repeat {
          guard try await perform(draws.next(), &reader, outbound, channel) else { break }
        } while keepsAlive && !tally.isStopped
      }
    } catch let error as ChannelError where error == .alreadyClosed {
    }
  }

  /// - Returns: whether the connection can take another request.
  private func perform(
    _ exchange: Exchange, _ reader: inout MessageReader, _ output: NIOAsyncChannelOutboundWriter<ByteBuffer>,
    _ channel: any Channel
  ) async throws -> Bool {
    if reader.hasRest { throw exchange.failure("bytes before the request, after the last response") }
    let start = ContinuousClock.now
    var received = 0
    let alarm = alarm(for: exchange, channel)
    defer {
      alarm.cancel()
      tally.count()
    }
    do {
      try await send(exchange, output)
      return try await receive(exchange, &reader, channel, &received)
    } catch is Left {
      if exchange.detail % 2 == 0 { await channel.reset() }
      return false
    } catch let error as Malformed {
      throw exchange.failure(error.text)
    } catch let failure as Exchange.Failure {
      throw failure
    } catch {
      try ended(exchange, error, since: start, received)
      return false
    }
  }

  private func time(for exchange: Exchange) -> Duration {
    exchange.cell.size == Cell.large ? patience * 2 : patience
  }

  /// Closes a channel when the time for an answer is over.
  func alarm(for exchange: Exchange, _ channel: any Channel) -> Scheduled<Void> {
    channel.eventLoop.scheduleTask(in: .nanoseconds(Int64(time(for: exchange) / .nanoseconds(1)))) {
      channel.close(promise: nil)
    }
  }

  /// Judges a response that ended early.
  ///
  /// - Parameter received: the bytes of its content that arrived.
  func ended(
    _ exchange: Exchange, _ error: any Error, since start: ContinuousClock.Instant, _ received: Int
  ) throws {
    let time = time(for: exchange)
    if ContinuousClock.now - start >= time {
      throw exchange.failure("no answer within \(time), but \(received) bytes of it")
    }
    if exchange.cell.mayFail { return }
    let failure = exchange.failure("ended early, after \(received) bytes: \(error)")
    guard exchange.cell.size == Cell.large else { throw failure }
    tally.cutOff(failure.description)
  }

  private func send(_ exchange: Exchange, _ output: NIOAsyncChannelOutboundWriter<ByteBuffer>) async throws {
    var head = "\(exchange.method) \(exchange.cell.path) HTTP/1.1\r\nHost: soak.example\r\n"
    for (name, value) in exchange.fields { head += "\(name): \(value)\r\n" }
    if !keepsAlive { head += "Connection: close\r\n" }
    guard let content = exchange.requestContent else {
      return try await output.write(ByteBuffer(string: head + "\r\n"))
    }
    let isChunked = exchange.detail % 2 == 0
    head += isChunked ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: \(content.size)\r\n\r\n"
    var bytes = ByteBuffer(string: head)
    if isChunked { bytes.writeString(String(content.size, radix: 16) + "\r\n") }
    content.write(0..<content.size, to: &bytes)
    if isChunked { bytes.writeString("\r\n0\r\n\r\n") }
    try await output.write(bytes)
  }

  /// The client wants no more of the response.
  struct Left: Error {}

  private func receive(
    _ exchange: Exchange, _ reader: inout MessageReader, _ channel: any Channel, _ received: inout Int
  ) async throws -> Bool {
    var status = 0
    var head = MessageHead(line: [])
    repeat {
      guard let next = try await reader.head() else { throw BrokenOff() }
      guard next.line.count >= 2, next.line[0] == "HTTP/1.1", let code = Int(next.line[1]) else {
        throw Malformed("status line \(next.line)")
      }
      (head, status) = (next, code)
    } while status < 200
    let fields = head.fields
    let expected = try exchange.expected(status: status) { fields[$0] }
    if exchange.client == .leaves, exchange.detail % 3 == 0 { throw Left() }
    let framing = try head.framing()
    if status == 204, framing != nil { throw Malformed("204 with \(fields)") }
    let hasContent = exchange.client != .head && status != 204 && status != 304

    if hasContent {
      var check = ContentCheck(exchange, expected, status: status)
      try await reader.content(framing ?? .close) {
        received += $0.readableBytes
        try await check.take($0)
      }
      try check.end()
    }
    return fields["connection"] != "close" && (framing != nil || !hasContent)
  }
}
