// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheTesting
import HTTPTypes
import Testing

@Suite("HAR files", .timeLimit(.minutes(10)))
struct HARTests {
  private func file(_ entries: String...) throws -> HARFile {
    try HARFile(
      Array(#"{"log": {"version": "1.2", "entries": [\#(entries.joined(separator: ","))]}}"#.utf8),
      name: "a.har")
  }

  private func entry(
    _ url: String = "https://a.test/", status: Int = 200, headers: String = "", content: String = "{}",
    redirect: String = "", method: String = "GET", requestHeaders: String = ""
  ) -> String {
    """
    {"startedDateTime": "2026-01-01T00:00:00Z", "request": {"method": "\(method)", "url": "\(url)", "headers": [\(requestHeaders)]},
     "response": {"status": \(status), "statusText": "", "headers": [\(headers)], "redirectURL": "\(redirect)", "content": \(content)}}
    """
  }

  @Test("Base64 content is decoded, and text content becomes UTF-8")
  func contents() throws {
    let har = try file(
      entry(content: #"{"size": 5, "mimeType": "image/png", "text": "aGVs\nbG8=", "encoding": "base64"}"#),
      entry(
        headers: #"{"name": "content-type", "value": "text/html; charset=ISO-8859-1"}"#,
        content: #"{"size": 1, "mimeType": "text/html", "text": "é"}"#),
      entry(content: #"{"size": 0, "mimeType": ""}"#))
    #expect(try har.responses.map { try $0.body() } == [Array("hello".utf8), Array("é".utf8), []])
    #expect(har.responses[0].head.headerFields[.contentType] == "image/png")
    #expect(har.responses[1].head.headerFields[.contentType] == "text/html; charset=utf-8")
    #expect(har.skipped.isEmpty)
  }

  @Test("Repeated fields are kept, and fields that no longer apply are left out")
  func fields() throws {
    let har = try file(
      entry(
        headers: #"""
          {"name": ":status", "value": "200"}, {"name": "Set-Cookie", "value": "a=1\nb=2"}, {"name": "link", "value": "</a>"},
          {"name": "Link", "value": "</b>"}, {"name": "Content-Encoding", "value": "br"}, {"name": "Content-Length", "value": "3"},
          {"name": "Vary", "value": "Accept-Encoding, Accept"}, {"name": "Vary", "value": "X"}, {"name": "bad name", "value": "x"},
          {"name": "Transfer-Encoding", "value": "chunked"}
          """#,
        requestHeaders:
          #"{"name": ":path", "value": "/"}, {"name": "Host", "value": "a.test"}, {"name": "accept", "value": "a/b"}"#
      ))
    let response = har.responses[0]
    #expect(response.head.headerFields[values: .setCookie] == ["a=1", "b=2"])
    #expect(response.head.headerFields[values: .link] == ["</a>", "</b>"])
    #expect(response.head.headerFields[.vary] == "Accept, X")
    #expect(response.head.headerFields.count == 5)
    #expect(response.request.headerFields == [.accept: "a/b"])
  }

  @Test("The target of a redirect is read from Location or redirectURL")
  func redirects() throws {
    let har = try file(
      entry(status: 301, redirect: "https://b.test/"),
      entry(status: 302, headers: #"{"name": "Location", "value": "/x"}"#, redirect: "https://a.test/x"),
      entry(status: 200, redirect: "https://b.test/"))
    #expect(har.responses.map { $0.head.headerFields[.location] } == ["https://b.test/", "/x", nil])
  }

  @Test("Entries without a usable response are left out with the reason")
  func skipped() throws {
    let har = try file(
      entry("data:text/plain,x"), entry(status: 0), entry(status: 304), entry(status: 206),
      entry(status: 101),
      entry(content: #"{"size": 10}"#), entry(content: #"{"size": 0}"#),
      entry(content: #"{"size": 9}"#, method: "HEAD"))
    #expect(har.responses.count == 2)
    #expect(har.skipped.count == 6)
    #expect(har.skipped[1].description == "entry 1 (GET https://a.test/): the request got no response")
  }

  @Test(
    "An invalid HAR file is an error that describes the fault",
    arguments: [
      (#"{"log": {"entries": [{}]}}"#, "\"request\" is missing at log.entries[0]"),
      (#"{"log": {"entries": [{"request": {"method": "GET", "url": 1}}]}}"#, "at log.entries[0].request.url"),
      (#"{"entries": []}"#, "\"log\" is missing"), ("<html>", "not a HAR file"),
    ])
  func faults(text: String, message: String) throws {
    let error = #expect(throws: ArchiveError.self) { try HARFile(Array(text.utf8), name: "a.har") }
    #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
  }

  @Test("An entry with invalid or contradictory parts is an error that names the entry")
  func contentFaults() throws {
    let rows = [
      (entry(content: #"{"text": "a", "encoding": "base64"}"#), "its content is not valid base64"),
      (
        entry(content: #"{"text": "aGVsbG8=", "encoding": "base64", "size": 6}"#),
        "expected 6 bytes of content, found 5"
      ),
      (entry(content: #"{"text": "x", "encoding": "rot13"}"#), "\"rot13\""),
      (entry("http:///x"), "a URL with a host"),
      (entry(status: 1000), "expected a status code of three digits, found 1000"),
      (entry(method: "G T"), "expected a request with a method"),
    ]
    for (text, message) in rows {
      let error = #expect(throws: ArchiveError.self) { try file(entry(), text) }
      let description = error?.description ?? ""
      #expect(description.hasPrefix("a.har, entry 1 ("), "\(description)")
      #expect(description.contains(message), "\(description)")
    }
  }
}
