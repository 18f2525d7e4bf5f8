// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import ChildProcesses
import Foundation
import HTTPCacheArchives
import HTTPCaching
import Loopback
import TestSupport
import Testing

@testable import httpcache

@Suite("httpcache record", .timeLimit(.minutes(10)))
struct RecordCommandTests {
  @Test("An unreachable server ends the command with status 1")
  func unreachable() async throws {
    try await withTemporaryFolder { folder in
      let words = ["record", "http://127.0.0.1:1/", "--folder", folder.path + "/recorded"]
      var command = try #require(try HTTPCacheCommand.parseAsRoot(words) as? any AsyncParsableCommand)
      await #expect(throws: ExitCode(1)) { try await command.run() }
    }
  }

  @Test(
    "Over HTTPS, redirects are followed and recorded, and content is decoded",
    .enabled("needs the command openssl, to make certificates") { await Certificate.canBeMade() },
    arguments: SecureOrigin.Version.allCases)
  func secure(version: SecureOrigin.Version) async throws {
    // "hello", as gzip writes it.
    let encoded: [UInt8] = [
      0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0,
      0,
    ]
    try await withTemporaryFolder { folder in
      let certificate = try await Certificate.shared(in: folder)
      try await SecureOrigin.with(certificate, offering: [version]) { request in
        guard request.target != "/old" else {
          return .init(
            status: 301, fields: [.location: "n w?a=1#b", .setCookie: "a=1; path=/"], body: "moved")
        }
        guard request.fields[.cookie] == "a=1" else { return .init(status: 403) }
        return .init(
          fields: [.contentEncoding: "gzip", .vary: "Accept-Encoding, Accept", .contentType: "text/plain"],
          bytes: encoded)
      } test: { origin in
        var environment = ProcessInfo.processInfo.environment
        environment["CURL_CA_BUNDLE"] = certificate.file.path
        let recorded = folder.path + "/recorded"
        let process = try ChildProcess(
          try #require(Program.built("httpcache")),
          ["record", try origin.url("/old"), "--folder", recorded, "-H", "Accept: text/plain"],
          environment: environment)
        #expect(try await process.end() == .exited(0), "\(process.lastWords)")
        #expect(process.output.text == "200  5 bytes  \(try origin.url("/n%20w?a=1"))\n")

        let responses = try ResponseFolder(recorded).responses()
        #expect(try responses.map(\.url) == [origin.url("/n%20w?a=1"), origin.url("/old")])
        let (last, first) = try (#require(responses.first), #require(responses.last))
        #expect(try last.body() == Array("hello".utf8))
        #expect(last.head.headerFields[.contentEncoding] == nil)
        #expect(last.head.headerFields[.vary] == "Accept")
        #expect(last.request.headerFields[.accept] == "text/plain")
        #expect(first.head.status.code == 301)
        #expect(first.head.headerFields[.location] == "n w?a=1#b")
        #expect(first.head.headerFields[.setCookie] == nil)
      }
    }
  }
}
