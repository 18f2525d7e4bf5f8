// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A connection to a server on 127.0.0.1 for single requests, one after the other.
final class LoopbackClient {
  /// A response, complete.
  struct Response: Sendable {
    var status: Int
    /// By name in lower case.
    var fields: [String: String]
    var bodyBytes: Int
  }

  private let descriptor: Int32
  private let port: Int
  private var unread: [UInt8] = []

  /// - Parameter receiveBuffer: the size of the socket's receive buffer; the system's default if `nil`.
  /// - Throws: ``BenchError`` if nothing listens on the port.
  init(port: Int, receiveBuffer: Int32? = nil) throws {
    self.port = port
    descriptor = LoopbackSocket.make()
    guard descriptor >= 0 else { throw Self.failure(port, "cannot open a socket") }
    // A server that does not answer must be an error soon.
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, size)
    if var receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
    }
    let connected = LoopbackSocket.withAddress(port) { connect(descriptor, $0, $1) }
    // All properties are set, so that `deinit` closes the socket after an error too.
    guard connected == 0 else { throw Self.failure(port, "the connection was refused") }
  }

  deinit { close(descriptor) }

  /// Requests a path, and reads the whole response; see ``request(_:_:host:fields:closes:)``.
  func get(
    _ path: String, host: String? = nil, fields: [String] = [], closes: Bool = false
  ) throws -> Response {
    try request("GET", path, host: host, fields: fields, closes: closes)
  }

  /// Sends a request without content, and reads the whole response.
  ///
  /// - Parameters:
  ///   - host: the field Host; by default the address of the server.
  ///   - fields: more lines of the head.
  ///   - closes: whether the request ends the connection.
  func request(
    _ method: String, _ path: String, host: String? = nil, fields: [String] = [], closes: Bool = false
  ) throws -> Response {
    try send(method, path, host: host, fields: fields, closes: closes)
    let response = try receive()
    if closes {
      var byte: UInt8 = 0
      guard unread.isEmpty, recv(descriptor, &byte, 1, 0) == 0 else {
        throw Self.failure(port, "the server did not close the connection after 'Connection: close'")
      }
    }
    return response
  }

  /// Sends a request without content, and leaves the response to ``receive()`` or ``receiveFirstByte()``.
  func send(
    _ method: String, _ path: String, host: String? = nil, fields: [String] = [], closes: Bool = false
  ) throws {
    let lines =
      ["\(method) \(path) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")"] + fields
      + (closes ? ["Connection: close"] : [])
    let request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    guard LoopbackSocket.send(request, on: descriptor) else {
      throw Self.failure(port, "the request could not be sent")
    }
  }

  /// Reads the whole response to the request that was sent last.
  func receive() throws -> Response {
    let (status, fields, headBytes) = try receiveHead()
    // A 304 has no content, whatever length it states.
    guard let length = status == 304 ? 0 : fields["content-length"].flatMap({ Int($0) }), length >= 0 else {
      throw Self.failure(port, "the response has no valid Content-Length")
    }
    while unread.count < headBytes + length { try receivePiece() }
    unread.removeFirst(headBytes + length)
    return Response(status: status, fields: fields, bodyBytes: length)
  }

  /// Reads a response until the first byte of its content, and returns its status. The rest can only be discarded.
  func receiveFirstByte() throws -> Int {
    let (status, _, headBytes) = try receiveHead()
    while unread.count <= headBytes { try receivePiece() }
    return status
  }

  /// Discards what has arrived, up to a number of bytes. Returns at once.
  func discard(atMost bytes: Int) {
    var piece = [UInt8](repeating: 0, count: bytes)
    _ = recv(descriptor, &piece, bytes, Int32(MSG_DONTWAIT))
  }

  /// Reads the head of a response, which stays at the start of the unread bytes.
  private func receiveHead() throws -> (status: Int, fields: [String: String], bytes: Int) {
    let end = Array("\r\n\r\n".utf8)
    while true {
      if let headEnd = unread.firstRange(of: end) {
        guard let (status, fields) = Self.parse(unread[..<headEnd.lowerBound]) else {
          throw Self.failure(port, "the response is not valid")
        }
        return (status, fields, headEnd.upperBound)
      }
      try receivePiece()
    }
  }

  private func receivePiece() throws {
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(descriptor, &piece, piece.count, 0)
    guard count > 0 else { throw Self.failure(port, "the response is not complete") }
    unread += piece.prefix(count)
  }

  /// Parses the lines of a head.
  static func parse(_ head: some Collection<UInt8>) -> (status: Int, fields: [String: String])? {
    let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count > 1, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else { return nil }
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
    }
    return (status, fields)
  }

  /// Returns a port on which nothing listens.
  static func freePort() throws -> Int {
    let descriptor = LoopbackSocket.make()
    guard descriptor >= 0 else { throw failure(0, "cannot open a socket") }
    defer { close(descriptor) }
    guard LoopbackSocket.withAddress(0, { bind(descriptor, $0, $1) }) == 0,
      let port = LoopbackSocket.port(of: descriptor)
    else { throw failure(0, "no port is free") }
    return port
  }

  private static func failure(_ port: Int, _ what: String) -> BenchError {
    .unprepared("127.0.0.1:\(port): \(what)")
  }
}
