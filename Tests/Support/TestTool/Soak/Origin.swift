// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import Loopback
import NIOCore

/// The origin: answers every path by what the path says, and misbehaves as it says.
struct Origin: Sendable {
  /// How long a silent origin waits before it closes the connection.
  let silence: Duration

  /// - Parameter usesHTTP2: whether it has HTTP/2, and no other version.
  func start(usesHTTP2: Bool) async throws -> LoopbackServer {
    typealias Input = NIOAsyncChannelInboundStream<ByteBuffer>
    typealias Output = NIOAsyncChannelOutboundWriter<ByteBuffer>
    let serve: @Sendable (Input, Output, any Channel) async throws -> Void = { inbound, _, channel in
      var reader = MessageReader(inbound)
      while let head = try await reader.head() {
        guard try await answer(head, &reader, channel) else { return }
      }
    }
    guard usesHTTP2 else { return try await LoopbackServer.start(configure: { _ in }, serve: serve) }
    return try await LoopbackServer.startHTTP2(
      configure: { try $0.pipeline.syncOperations.addHandler(MessageBridge()) }, serve: serve)
  }

  /// - Returns: whether the connection stays open.
  private func answer(
    _ head: MessageHead, _ reader: inout MessageReader, _ channel: any Channel
  ) async throws -> Bool {
    // Past the asynchronous writer: it returns before the bytes are sent, and the end of a connection would overtake them.
    func send(_ text: String) async throws { try await channel.writeAndFlush(ByteBuffer(string: text)) }
    guard head.line.count == 3, let cell = Cell(path: head.line[1]) else {
      try await send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
      return false
    }
    if head.fields["expect"] != nil { try await send("HTTP/1.1 100 Continue\r\n\r\n") }
    if let framing = try head.framing(), try await !isIntact(framing, of: cell, &reader) {
      try await send("HTTP/1.1 400 Wrong Content\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
      return false
    }

    let reply = Reply(cell, method: head.line[0], head.fields)
    let pause: Duration = .milliseconds(cell.origin == .slow ? 50 : 0)
    // One in four fails before the head, the others in the middle of the content.
    let failsEarly = cell.mayFail && (cell.isOne(in: 4, 1) || reply.range.isEmpty)
    if failsEarly {
      if cell.origin == .silent { try await Task.sleep(for: silence) }
      return false
    }
    // Neither interim responses nor trailers to a URLSession: trailers end a process that uses Foundation on Linux
    // ("Transfer completed, but there's no response").
    let isProxy = head.fields["via"] != nil
    if isProxy, cell.isOne(in: 7, 2) {
      try await send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
    }
    try await Task.sleep(for: pause)
    try await send(reply.head)

    let end = cell.mayFail ? reply.range.lowerBound + reply.range.count / 2 : reply.range.upperBound
    let step = cell.origin == .slow ? reply.range.count / 4 + 1 : 64 << 10
    for start in stride(from: reply.range.lowerBound, to: end, by: step) {
      try await Task.sleep(for: pause)
      try await channel.writeAndFlush(reply.framed(start..<Swift.min(start + step, end)))
    }
    if cell.origin == .silent { try await Task.sleep(for: silence) }
    if cell.mayFail {
      // The end of the connection would be the end of the content.
      if cell.framing == .close || cell.isOne(in: 2, 3) { await channel.reset() }
      return false
    }
    if reply.isChunked, head.line[0] != "HEAD" {
      try await send(
        isProxy && cell.isOne(in: 3, 4) ? "0\r\nX-Check: \(reply.range.count)\r\n\r\n" : "0\r\n\r\n")
    }
    return cell.framing != .close
  }

  /// Reads the content of a POST.
  private func isIntact(_ framing: MessageHead.Framing, of cell: Cell, _ reader: inout MessageReader)
    async throws
    -> Bool
  {
    let expected = Content(of: cell.path, number: 1000, size: 1 << 20)
    var (position, isRight) = (0, true)
    try await reader.content(framing) { piece in
      isRight = isRight && expected.matches(piece, at: position)
      position += piece.readableBytes
    }
    return isRight
  }
}

/// A response of the origin.
private struct Reply {
  private let cell: Cell
  private let content: Content
  private let status: Int
  /// What is sent of the content.
  let range: Range<Int>
  let isChunked: Bool
  let head: String

  init(_ cell: Cell, method: Substring, _ request: [String: String]) {
    self.cell = cell
    let variant = Int(request["x-variant"] ?? "") ?? 0
    content = cell.content(variant: variant, isPost: method == "POST")
    let tag = cell.entityTag(variant: variant)

    var (status, range, fields) = (cell.plainStatus, 0..<content.size, "")
    if status == 200, method != "POST" {
      let tags = (request["if-none-match"] ?? "").split(separator: ",").map { $0.drop { $0 == " " } }
      let isUnchanged =
        request["if-none-match"] != nil
        ? tags.contains { $0 == tag ?? "" } : cell.validator == .date && request["if-modified-since"] != nil
      if isUnchanged {
        (status, range) = (304, 0..<0)
      } else if method == "GET", let asked = request["range"], cell.status == 206 || cell.isOne(in: 2, 5),
        request["if-range"].map({ $0 == (cell.validator == .date ? Cell.lastModified : tag) }) ?? true,
        let part = Self.part(asked, of: content.size)
      {
        range = part
        status = part.isEmpty ? 416 : 206
        fields +=
          "Content-Range: bytes \(part.isEmpty ? "*" : "\(part.lowerBound)-\(part.upperBound - 1)")/\(content.size)\r\n"
      }
    }
    if cell.validator == .date { fields += "Last-Modified: \(Cell.lastModified)\r\n" }
    if let tag { fields += "ETag: \(tag)\r\n" }
    if cell.varies { fields += "Vary: X-Variant\r\n" }
    if status == 301 { fields += "Location: \(cell.redirectTarget.path)\r\n" }
    let cacheControl =
      if !cell.isCacheable {
        "no-store"
      } else if cell.isOne(in: 4, 6) {
        "max-age=1, stale-while-revalidate=10"
      } else {
        cell.isOne(in: 2, 6) ? "max-age=1" : "max-age=60"
      }
    fields += "Cache-Control: \(cacheControl)"
    if cell.isOne(in: 5, 7) { fields += "\r\nAge: 1" }

    let mayHaveContent = status != 204 && status != 304
    isChunked = mayHaveContent && cell.framing == .chunked
    if mayHaveContent {
      switch cell.framing {
      case .length: fields += "\r\nContent-Length: \(range.count)"
      case .chunked: fields += "\r\nTransfer-Encoding: chunked"
      case .close: break
      }
    }
    if cell.framing == .close { fields += "\r\nConnection: close" }
    if method == "HEAD" { range = range.lowerBound..<range.lowerBound }
    self.status = status
    self.range = range
    let date = HTTPDate(SystemCacheClock.shared.now).fieldValue
    head = "HTTP/1.1 \(status) Some Reason\r\nDate: \(date)\r\n\(fields)\r\n\r\n"
  }

  /// The part of the content that a Range field asks for; empty if there is none; `nil` if the field means nothing.
  private static func part(_ field: String, of size: Int) -> Range<Int>? {
    let ends = field.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
    guard field.hasPrefix("bytes="), ends.count == 2 else { return nil }
    guard let first = Int(ends[0]) else {
      return Int(ends[1]).map { Swift.max(0, size - $0)..<size }
    }
    guard first < size else { return 0..<0 }
    return first..<Swift.min(size, (Int(ends[1]) ?? size - 1) + 1)
  }

  func framed(_ range: Range<Int>) -> ByteBuffer {
    guard isChunked else { return content.bytes(range) }
    var buffer = ByteBuffer()
    func write(_ chunk: Range<Int>) {
      buffer.writeString(String(chunk.count, radix: 16) + "\r\n")
      content.write(chunk, to: &buffer)
      buffer.writeString("\r\n")
    }
    // A chunk for each byte, now and then. Of the first bytes only: SwiftNIO writes 3,000 chunks that came at once in one turn
    // of its loop, 1.2 s of processor time in a debug build, and each other response on that loop waits meanwhile.
    var rest = range
    if range.count <= 3 << 10, cell.isOne(in: 8, 8) {
      for position in range.prefix(64) { write(position..<position + 1) }
      rest = range.dropFirst(64)
    }
    if !rest.isEmpty { write(rest) }
    return buffer
  }
}
