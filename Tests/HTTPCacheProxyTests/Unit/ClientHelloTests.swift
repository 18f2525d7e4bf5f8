// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import NIOCore
import Testing

@testable import TransportSecurity

@Suite("The first message of a TLS client", .timeLimit(.minutes(10)))
struct ClientHelloTests {
  private static func prefixed(_ bytes: [UInt8], _ width: Int) -> [UInt8] {
    (0..<width).reversed().map { UInt8(truncatingIfNeeded: bytes.count >> ($0 * 8)) } + bytes
  }

  /// An extension of the kind 0 with one name.
  static func serverName(_ name: [UInt8], kind: UInt8 = 0) -> [UInt8] {
    [0, 0] + prefixed(prefixed([kind] + prefixed(name, 2), 2), 2)
  }

  /// A message with a session, two ciphers, and these extensions.
  private static func message(_ extensions: [UInt8]?) -> [UInt8] {
    let fixed = [3, 3] + [UInt8](repeating: 7, count: 32) + prefixed([UInt8](repeating: 1, count: 32), 1)
    let body = fixed + prefixed([0xC0, 0x2B, 0xC0, 0x2F], 2) + prefixed([0], 1)
    return [1] + prefixed(body + (extensions.map { prefixed($0, 2) } ?? []), 3)
  }

  /// A message for TLS 1.2 that asks for a name.
  static func message(name: String) -> [UInt8] {
    // The groups and the signatures that a server needs.
    let groups = [0, 10] + prefixed(prefixed([0, 23], 2), 2)
    let points = [0, 11] + prefixed(prefixed([0], 1), 2)
    let signatures = [0, 13] + prefixed(prefixed([4, 3, 8, 4], 2), 2)
    return message(groups + serverName(Array(name.utf8)) + points + signatures)
  }

  /// Records with pieces of a message.
  static func records(_ message: [UInt8], of size: Int) -> [UInt8] {
    stride(from: 0, to: message.count, by: size).flatMap {
      [22, 3, 1] + prefixed(Array(message[$0..<min($0 + size, message.count)]), 2)
    }
  }

  private func read(_ bytes: [UInt8]) -> ClientHello.Progress { ClientHello.read(ByteBuffer(bytes: bytes)) }

  @Test(
    "The name is found in one record or in many, and not before the whole message",
    arguments: [1, 2, 5, 100, 16_384])
  func records(size: Int) {
    for (message, name) in [
      (Self.message(name: "A.example"), DNSName("a.example".utf8)), (Self.message([]), nil),
      (Self.message(nil), nil), (Self.message([0, 16, 0, 0]), nil),
    ] {
      let bytes = Self.records(message, of: size)
      #expect(read(bytes) == .complete(name: name))
      // More may follow.
      #expect(read(bytes + [20, 3, 3, 0, 1, 1]) == .complete(name: name))
      for count in 0..<bytes.count { #expect(read(Array(bytes.prefix(count))) == .incomplete, "\(count)") }
    }
  }

  @Test("What is not a message of a client, or too large, has no name and ends the wait")
  func malformed() {
    let name = Array("a.example".utf8)
    for (what, bytes) in [
      ("another type of record", [23, 3, 1, 0, 1, 0]), ("a request", Array("GET / HTTP/1.1\r\n\r\n".utf8)),
      ("another message", Self.records([2, 0, 0, 1, 0], of: 100)),
      ("a message that is too large", Self.records([1, 0, 0x40, 1], of: 100)),
      ("an empty message", Self.records([1, 0, 0, 0], of: 100)),
      ("another kind of name", Self.records(Self.message(Self.serverName(name, kind: 1)), of: 100)),
      ("an extension that is too short", Self.records(Self.message([0, 0, 0, 2, 0, 5]), of: 100)),
      ("an extension without its end", Self.records(Self.message([0, 0, 0, 9, 0]), of: 100)),
      ("half an extension", Self.records(Self.message([0]), of: 100)),
      ("records without content", [UInt8]((0..<7000).flatMap { _ in [22, 3, 1, 0, 0] as [UInt8] })),
    ] as [(String, [UInt8])] {
      #expect(read(bytes) == .complete(name: nil), "\(what)")
    }
    #expect(read([UInt8]((0..<100).flatMap { _ in [22, 3, 1, 0, 0] as [UInt8] })) == .incomplete)
  }

  @Test("No bytes are read beyond their end", arguments: 0..<20)
  func random(seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    let whole = Self.records(Self.message(name: "a.example"), of: 50)
    for _ in 0..<200 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      _ = read(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))))
    }
  }

  @Test(
    "A host is among the names by its octets, or by a pattern for the first label (RFC 9525 §6.3)",
    arguments: [
      ("asked.example", true), ("Asked.Example.", true), ("one.example", true), ("a.wild.example", true),
      ("wild.example", false), ("a.b.wild.example", false), ("example", false), ("", false),
      ("192.0.2.1", false),
      ("ban\u{212A}.example", false), ("bank.example", true), ("*.wild.example", true),
    ])
  func names(host: String, isContained: Bool) {
    let certificate = Set(["one.example", "*.wild.example", "bank.example"].map { DNSName($0.utf8) })
    let names = ServerNames(asked: DNSName("asked.example".utf8), certificate: certificate)
    #expect(names.contain(host.utf8) == isContained)
  }
}
