// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import NIOPosix

/// Sends one request on its own connection.
enum Client {
  struct Answer: Sendable {
    var status: Int
    var fields: [String: String]
    var body: String

    /// Whether the proxy served it without the origin.
    var isUnvalidated: Bool {
      let cache = fields["cache-status"] ?? ""
      return cache.contains("; hit") && !cache.contains("fwd=")
    }
  }

  static func send(
    _ method: String, _ target: String, host: String = "fleet.test", accept: String = "*/*", port: Int
  ) async throws -> Answer {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connectTimeout(.seconds(5))
      .connect(host: "127.0.0.1", port: port) { channel in
        channel.eventLoop.makeCompletedFuture {
          try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
      }
    let alarm = channel.channel.eventLoop.scheduleTask(in: .seconds(20)) {
      channel.channel.close(promise: nil)
    }
    defer { alarm.cancel() }
    return try await channel.executeThenClose { inbound, outbound in
      try await outbound.write(
        ByteBuffer(
          string:
            "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\nAccept: \(accept)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ))
      var bytes = ByteBuffer()
      for try await var part in inbound { bytes.writeBuffer(&part) }
      return try answer(String(buffer: bytes))
    }
  }

  private static func answer(_ text: String) throws -> Answer {
    guard let end = text.firstRange(of: "\r\n\r\n") else {
      throw DriverFailure("no answer: '\(text.prefix(80))'")
    }
    let lines = text[..<end.lowerBound].split(separator: "\r\n")
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      fields[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
    }
    let body = String(text[end.upperBound...])
    // A node that is killed may have sent a part.
    if let length = fields["content-length"], Int(length) != body.utf8.count {
      throw DriverFailure("\(body.utf8.count) of \(length) bytes")
    }
    return Answer(status: status, fields: fields, body: body)
  }
}
