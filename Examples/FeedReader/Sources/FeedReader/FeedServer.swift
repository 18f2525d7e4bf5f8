// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A server of one feed and three articles, with the usual ways of caching: as small as a server can be, and no example of
/// how to write one.
final class FeedServer: Sendable {
  private let socket: Int32
  private let count = Mutex(0)
  private let weather: String

  var requestCount: Int { count.withLock { $0 } }

  /// - Parameter weather: the text of the article that changes often.
  init(port: UInt16, weather: String) throws {
    self.weather = weather
    #if canImport(Darwin)
      let kind = SOCK_STREAM
    #else
      let kind = Int32(SOCK_STREAM.rawValue)
    #endif
    socket = Self.openSocket(AF_INET, kind, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var yes: Int32 = 1
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard bound == 0, listen(socket, 16) == 0 else {
      throw CocoaError(
        .fileWriteUnknown,
        userInfo: [
          NSLocalizedDescriptionKey: "port \(port) of 127.0.0.1 is taken: \(String(cString: strerror(errno)))"
        ])
    }
    Thread.detachNewThread { [self] in
      while true {
        let connection = accept(socket, nil, nil)
        if connection < 0 { return }
        answer(connection)
        close(connection)
      }
    }
  }

  func stop() {
    shutdown(socket, Int32(SHUT_RDWR))
    close(socket)
  }

  private static func openSocket(_ domain: Int32, _ kind: Int32, _ proto: Int32) -> Int32 {
    #if canImport(Glibc)
      Glibc.socket(domain, kind, proto)
    #elseif canImport(Musl)
      Musl.socket(domain, kind, proto)
    #else
      Darwin.socket(domain, kind, proto)
    #endif
  }

  /// One request and its answer.
  private func answer(_ connection: Int32) {
    var head = ""
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !head.contains("\r\n\r\n"), head.utf8.count < 65_536 {
      let received = recv(connection, &buffer, buffer.count, 0)
      if received <= 0 { return }
      head += String(decoding: buffer[..<received], as: UTF8.self)
    }
    count.withLock { $0 += 1 }
    let path = head.split(separator: " ").dropFirst().first.map(String.init) ?? "/"
    let isCondition = head.lowercased().contains("if-none-match: \"1\"")
    let bytes = Array(response(path, isCondition: isCondition).utf8)
    var sent = 0
    while sent < bytes.count {
      let written = bytes.withUnsafeBytes {
        send(connection, UnsafeRawBufferPointer(rebasing: $0[sent...]).baseAddress, bytes.count - sent, 0)
      }
      if written <= 0 { return }
      sent += written
    }
  }

  private func response(_ path: String, isCondition: Bool) -> String {
    let (status, fields, text): (String, String, String) =
      switch path {
      // Revalidated at each use, with its ETag.
      case "/feed.xml":
        isCondition
          ? ("304 Not Modified", "ETag: \"1\"\r\nCache-Control: max-age=0, must-revalidate\r\n", "")
          : (
            "200 OK",
            "ETag: \"1\"\r\nCache-Control: max-age=0, must-revalidate\r\nContent-Type: application/rss+xml\r\n",
            Self.feed
          )
      case "/caches":
        ("200 OK", "Cache-Control: max-age=3600\r\n", "A cache answers before the origin has to.\n")
      case "/weather":
        (
          "200 OK", "Cache-Control: max-age=0, stale-while-revalidate=600\r\n",
          "\(weather)\n"
        )
      case "/private": ("200 OK", "Cache-Control: no-store\r\n", "No cache stores this.\n")
      default: ("404 Not Found", "", "There is nothing here.\n")
      }
    return
      "HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(text.utf8.count)\r\nConnection: close\r\n\r\n\(text)"
  }

  private static let feed = """
    <?xml version="1.0"?>
    <rss version="2.0"><channel><title>News from loopback</title>
    <item><title>On caches</title><link>/caches</link></item>
    <item><title>The weather</title><link>/weather</link></item>
    <item><title>For you alone</title><link>/private</link></item>
    </channel></rss>
    """
}
