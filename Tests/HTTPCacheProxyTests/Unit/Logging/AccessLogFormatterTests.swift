// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes
import NIOCore
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("Format of access log lines", .timeLimit(.minutes(10)))
struct AccessLogFormatterTests {
  private static let noon = Timestamp(milliseconds: 1_763_802_482_045)

  /// What is logged of one request.
  struct Logged {
    var entry: AccessLogEntry
    var request: HTTPRequest?
  }

  private static func line(_ logged: Logged, _ format: ProxyConfiguration.AccessLogOptions.Format) -> String {
    var formatter = AccessLogFormatter(format)
    var bytes: [UInt8] = []
    formatter.write(logged.entry, logged.request, at: noon, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func hit(_ fields: HTTPFields = [:]) -> Logged {
    var provenance = Provenance(.hit)
    provenance.reason = .fresh
    return Logged(
      entry: AccessLogEntry(
        client: "192.0.2.7", status: 200, contentBytes: 1234, provenance: provenance,
        microsecondsToHead: 45, microseconds: 1_000_250, isAborted: false),
      request: HTTPRequest(
        method: .get, scheme: "http", authority: "a.example", path: "/b?c=d", headerFields: fields))
  }

  private static let refused: Logged = {
    var entry = AccessLogEntry(
      client: "::1", unreadable: ByteBuffer(string: "GET /\" HTTP/1.1\r\nHost: a\r\n"), status: 400,
      contentBytes: 20, provenance: Provenance(failure: MessageFault("Host is \"odd\"")), microseconds: 7,
      isAborted: false)
    entry.microsecondsToHead = 7
    return Logged(entry: entry)
  }()

  private static let aborted: Logged = {
    var logged = hit()
    var entry = logged.entry
    entry.status = AccessLogEntry.statusWithoutResponse
    (entry.contentBytes, entry.provenance, entry.microsecondsToHead, entry.isAborted) = (0, nil, nil, true)
    entry.version = .http10
    logged.entry = entry
    return logged
  }()

  @Test(
    "Log lines have the configured format and include the outcome of the cache",
    arguments: [
      (
        hit(), ProxyConfiguration.AccessLogOptions.Format.common,
        #"192.0.2.7 - - [22/Nov/2025:09:08:02 +0000] "GET /b?c=d HTTP/1.1" 200 1234"#
          + #" cache=hit reason=fresh forward=- head=0.000045 total=1.000250 authority="a.example" aborted=no"#
      ),
      (
        hit([.referer: "http://a.example/", .userAgent: "x/1"]), .combined,
        #"192.0.2.7 - - [22/Nov/2025:09:08:02 +0000] "GET /b?c=d HTTP/1.1" 200 1234 "http://a.example/" "x/1""#
          + #" cache=hit reason=fresh forward=- head=0.000045 total=1.000250 authority="a.example" aborted=no"#
      ),
      (
        refused, .combined,
        #"::1 - - [22/Nov/2025:09:08:02 +0000] "GET /\x22 HTTP/1.1" 400 20 "-" "-""#
          + #" cache=refused reason=- forward=- head=0.000007 total=0.000007 authority="-" aborted=no"#
      ),
      (
        aborted, .common,
        #"192.0.2.7 - - [22/Nov/2025:09:08:02 +0000] "GET /b?c=d HTTP/1.0" 499 0"#
          + #" cache=- reason=- forward=- head=- total=1.000250 authority="a.example" aborted=yes"#
      ),
      (
        hit([.userAgent: "x/1"]), .json,
        #"{"time":"2025-11-22T09:08:02.045Z","client":"192.0.2.7","method":"GET","target":"/b?c=d","#
          + #""protocol":"HTTP/1.1","authority":"a.example","status":200,"bytes":1234,"cache":"hit","#
          + #""reason":"fresh","forward":null,"head_seconds":0.000045,"total_seconds":1.000250,"#
          + #""aborted":false,"referer":null,"user_agent":"x/1"}"#
      ),
      (
        refused, .json,
        #"{"time":"2025-11-22T09:08:02.045Z","client":"::1","unreadable":"GET /\u0022 HTTP/1.1","#
          + #""authority":null,"status":400,"bytes":20,"cache":"refused","reason":null,"forward":null,"#
          + #""error":"Host is \u0022odd\u0022","head_seconds":0.000007,"total_seconds":0.000007,"#
          + #""aborted":false,"referer":null,"user_agent":null}"#
      ),
      (
        aborted, .json,
        #"{"time":"2025-11-22T09:08:02.045Z","client":"192.0.2.7","method":"GET","target":"/b?c=d","#
          + #""protocol":"HTTP/1.0","authority":"a.example","status":499,"bytes":0,"cache":null,"#
          + #""reason":null,"forward":null,"head_seconds":null,"total_seconds":1.000250,"#
          + #""aborted":true,"referer":null,"user_agent":null}"#
      ),
    ])
  func forms(entry: Logged, format: ProxyConfiguration.AccessLogOptions.Format, expected: String) {
    #expect(Self.line(entry, format) == expected + "\n")
  }

  @Test(
    "Any bytes from a client make one log line of printable ASCII",
    arguments: ProxyConfiguration.AccessLogOptions.Format.allCases)
  func escapes(format: ProxyConfiguration.AccessLogOptions.Format) throws {
    for byte in UInt8.min...UInt8.max {
      var entry = Self.refused
      entry.entry.unreadable = ByteBuffer(bytes: [0x61, byte, 0x62])
      let line = Self.line(entry, format)
      #expect(line.utf8.allSatisfy { $0 == 0x0A || (0x20..<0x7F).contains($0) })
      #expect(line.utf8.count { $0 == 0x0A } == 1)
      let isEnd = byte == 0x0A || byte == 0x0D
      if format == .json {
        let text = isEnd ? "a" : "a\(Character(Unicode.Scalar(byte)))b"
        #expect(try LogFile.object(line)["unreadable"] == text)
      } else {
        // Only the quotation marks of the form are left.
        #expect(line.utf8.count { $0 == 0x22 } == (format == .common ? 4 : 8))
      }
    }
    for byte in [UInt8](0x80...0xFF) + [0x22, 0x5C, 0x09] {
      var entry = Self.hit()
      entry.request?.headerFields.append(
        HTTPField(name: .userAgent, lenientValue: [0x61, byte, 0x62]))
      let line = Self.line(entry, format)
      #expect(line.utf8.allSatisfy { $0 == 0x0A || (0x20..<0x7F).contains($0) })
      if format == .json {
        #expect(
          try LogFile.object(line)["user_agent"] == "a\(Character(Unicode.Scalar(byte)))b")
      } else if format == .combined {
        #expect(line.contains(" \"a\\x\(String(byte, radix: 16, uppercase: true).padded)b\" "))
      }
    }
  }

  @Test(
    "Long texts are truncated in a log line",
    arguments: ProxyConfiguration.AccessLogOptions.Format.allCases)
  func bounds(format: ProxyConfiguration.AccessLogOptions.Format) throws {
    let long = String(repeating: "\\", count: 100_000)
    var entry = Self.hit([.userAgent: long, .referer: long])
    entry.request?.path = "/" + long
    entry.request?.authority = long
    let line = Self.line(entry, format)
    #expect(line.utf8.count < 4 * 6 * LineWriter.textLimit + 1000)
    if format == .json {
      #expect(try LogFile.object(line)["user_agent"]?.utf8.count == LineWriter.textLimit)
    }
  }
}

extension String {
  fileprivate var padded: String { count == 1 ? "0" + self : self }
}
