// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheTesting
import HTTPTypes
import TestSupport
import Testing

@Suite("Folders of responses", .timeLimit(.minutes(10)))
struct FolderTests {
  private func write(_ text: String, _ name: String, in directory: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "/" + name))
  }

  @Test("A folder written by hand is read, with content beside the head or in it")
  func byHand() async throws {
    try await withTemporaryFolder { temporary async throws in
      let directory = temporary.path
      try write(
        """
        {"url": "https://a.test/feed?x=1#part", "requestFields": {"Accept": "a/b"},
         "fields": {"Content-Type": "text/plain", "Link": ["</a>", "</b>"], "Content-Length": "99"}, "body": "feed.txt"}
        """, "1.json", in: directory)
      try write("content", "feed.txt", in: directory)
      try write(
        #"{"url": "http://A.test:80", "method": "POST", "status": 404, "text": "gone"}"#, "2.json",
        in: directory)
      try write("{", "notes.txt", in: directory)
      let responses = try ResponseFolder(directory).responses()
      #expect(responses.map(\.url) == ["https://a.test/feed?x=1", "http://a.test/"])
      #expect(try responses.map { String(decoding: try $0.body(), as: UTF8.self) } == ["content", "gone"])
      #expect(responses.map(\.head.status.code) == [200, 404])
      #expect(responses[0].request.headerFields[.accept] == "a/b")
      #expect(responses[0].head.headerFields[values: try #require(.init("Link"))] == ["</a>", "</b>"])
      #expect(responses[0].head.headerFields[.contentLength] == nil)
      #expect(responses[1].request.method == .post)
    }
  }

  @Test(
    "An invalid file is an error that names the file and the fault",
    arguments: [
      ("{", "JSON"), ("{}", "\"url\" is missing"), (#"{"url": "a.test/x"}"#, "an http or https URL"),
      (#"{"url": "file:///etc/passwd"}"#, "an http or https URL"),
      (#"{"url": "https://a.test/", "boddy": "x"}"#, "unknown key \"boddy\""),
      (#"{"url": "https://a.test/", "method": "G T"}"#, "a method"),
      (#"{"url": "https://a.test/", "status": 99}"#, "expected a status code from 200 to 999, found 99"),
      (
        #"{"url": "https://a.test/", "status": 70000}"#, "expected a status code from 200 to 999, found 70000"
      ),
      (
        #"{"url": "https://a.test/", "fields": {"A B": "x"}}"#,
        "\"A B\" of the response is not a valid field name"
      ),
      (#"{"url": "https://a.test/", "fields": {"A": "x\r\nB: y"}}"#, "\"A\" of the response"),
      (#"{"url": "https://a.test/", "fields": {"A": 1}}"#, "at fields.A"),
      (
        #"{"url": "https://a.test/", "body": "a", "text": "b"}"#, "has both \"body\" and \"text\"; remove one"
      ),
      (#"{"url": "https://a.test/", "body": "../secret"}"#, "is not the name of a file in this folder"),
      (#"{"url": "https://a.test/", "body": "/etc/passwd"}"#, "is not the name of a file in this folder"),
      (#"{"url": "https://a.test/", "body": "a/../../secret"}"#, "is not the name of a file in this folder"),
      (#"{"url": "https://a.test/", "body": "a\\b"}"#, "is not the name of a file in this folder"),
      (#"{"url": "https://a.test/", "body": "a\u0000b"}"#, "is not the name of a file in this folder"),
      (#"{"url": "https://a.test/", "body": ""}"#, "is not the name of a file in this folder"),
      (#"{"url": "https://a.test/", "body": "link"}"#, "is outside the folder"),
      (#"{"url": "https://a.test/", "body": "links/secret"}"#, "is outside the folder"),
      (String(repeating: "[", count: 5000), "JSON"),
    ])
  func faults(text: String, message: String) async throws {
    try await withTemporaryFolder { temporary async throws in
      let directory = temporary.path
      let folder = directory + "/folder"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      try write("secret", "secret", in: directory)
      try FileManager.default.createSymbolicLink(
        atPath: folder + "/link", withDestinationPath: directory + "/secret")
      try FileManager.default.createSymbolicLink(atPath: folder + "/links", withDestinationPath: directory)
      try write(text, "head.json", in: folder)
      let error = #expect(throws: ArchiveError.self) { try ResponseFolder(folder).responses() }
      let description = try #require(error?.description)
      #expect(description.contains("head.json"))
      #expect(description.contains(message), "\(description)")
    }
  }

  @Test("Sizes and numbers are limited, and a body that is not a file is refused")
  func limits() async throws {
    try await withTemporaryFolder { temporary async throws in
      let directory = temporary.path
      try write(#"{"url": "https://a.test/", "body": "body"}"#, "a.json", in: directory)
      try write("12345", "body", in: directory)
      var folder = ResponseFolder(directory)
      folder.limits.body = 5
      #expect(try folder.responses()[0].body().count == 5)
      folder.limits.body = 4
      #expect(throws: ArchiveError.self) { try folder.responses()[0].body() }
      folder.limits.head = 10
      #expect(throws: ArchiveError.self) { try folder.responses() }
      folder.limits = .init()
      folder.limits.responses = 0
      #expect(throws: ArchiveError.self) { try folder.responses() }
      #expect(throws: ArchiveError.self) { try ResponseFolder(directory + "/none").responses() }
      try FileManager.default.removeItem(atPath: directory + "/body")
      let missing = #expect(throws: ArchiveError.self) { try ResponseFolder(directory).responses()[0].body() }
      #expect(
        missing?.description.hasSuffix("No such file or directory") == true, "\(missing?.description ?? "")")
      try FileManager.default.createDirectory(atPath: directory + "/body", withIntermediateDirectories: false)
      #expect(throws: ArchiveError.self) { try ResponseFolder(directory).responses()[0].body() }
    }
  }

  @Test("A written response is read back without credentials, and replaces an earlier one")
  func roundTrip() async throws {
    try await withTemporaryFolder { temporary async throws in
      let directory = temporary.path
      let folder = ResponseFolder(directory + "/new")
      let asked = try #require(
        request(
          "https://a.test/%C3%BC/../feed?q=%2F&token",
          fields: [.accept: "a/b", .cookie: "SECRET", .authorization: "SECRET"]))
      var head = HTTPResponse(
        status: .ok,
        headerFields: [
          .vary: "Accept, Cookie, Authorization", .setCookie: "SECRET", .contentType: "application/json",
        ])
      head.headerFields.append(.init(name: .link, value: "</a>"))
      head.headerFields.append(.init(name: .link, value: "</b>"))
      for text in ["one", "{}"] {
        try folder.add(.init(name: "", request: asked, head: head, body: Array(text.utf8)))
      }
      var other = asked
      other.headerFields[.accept] = "c/d"
      try folder.add(.init(name: "", request: other, head: head, body: []))
      let responses = try folder.responses()
      #expect(responses.count == 2)
      let first = try #require(responses.first { $0.request.headerFields[.accept] == "a/b" })
      #expect(try first.body() == Array("{}".utf8))
      #expect(first.url == TargetURI(asked)?.text)
      #expect(first.head.headerFields[values: .link] == ["</a>", "</b>"])
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
        #expect(!name.contains("/") && !name.hasPrefix("."))
        let data = try #require(FileManager.default.contents(atPath: folder.path + "/" + name))
        #expect(!String(decoding: data, as: UTF8.self).contains("SECRET"))
      }
    }
  }
}

extension HTTPField.Name {
  static let link = HTTPField.Name("Link") ?? .via
}
