// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPTypes
import Testing

@testable import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Heads of messages as Foundation has them")
struct FoundationMessagesTests {
  private let url = URL(string: "http://a.example/b")

  /// A text of Foundation, and the octets that it stands for.
  static let octets: [(text: String, octets: [UInt8])] =
    [
      ("text/html", Array("text/html".utf8)), ("", []), ("a\tb", Array("a\tb".utf8)),
      (String(repeating: "c", count: 300), Array(repeating: UInt8(ascii: "c"), count: 300)),
    ]
    + (Platform.fieldsAreUTF8
      ? ["ä", "ä€", "😀", "報告.pdf", "attachment; filename=\"ä€.txt\"", "e\u{301}", "\u{FFFD}", "\u{E9}"].map {
        ($0, Array($0.utf8))
      }
      : [("\u{E9}", [0xE9]), ("Ã¤", [0xC3, 0xA4])])

  @Test("A value keeps its octets in both directions", arguments: Self.octets)
  func values(text: String, octets: [UInt8]) throws {
    let name = try #require(HTTPField.Name("X-Name"))
    let url = try #require(url)
    let received = HTTPResponse(
      status: .ok, headerFields: HTTPFields([HTTPField(name: name, value: octets)]))
    let made = try #require(HTTPURLResponse(received, url: url))
    #expect(made.value(forHTTPHeaderField: "X-Name") == text)
    #expect(made.head == received)

    var request = URLRequest(url: url)
    request.setValue(text, forHTTPHeaderField: "X-Name")
    let head = try #require(HTTPRequest(plain: request))
    #expect(head.headerFields[fields: name] == [HTTPField(name: name, value: octets)])
    #expect(head.headerFields.dictionary == request.allHTTPHeaderFields)
  }

  @Test(
    "Octets that are not UTF-8 are read as ISO 8859-1",
    arguments: [[0x63, 0x61, 0x66, 0xE9], [0xC3], [0x80, 0xFF]] as [[UInt8]])
  func latin(octets: [UInt8]) throws {
    let name = try #require(HTTPField.Name("X-Name"))
    let text = HTTPField(name: name, value: octets).text
    #expect(text.unicodeScalars.map(\.value) == octets.map { UInt32($0) })
  }

  @Test("What cannot be in a value becomes a space, and a line with an invalid name is left out")
  func invalid() throws {
    var request = URLRequest(url: try #require(url))
    request.allHTTPHeaderFields = ["Bad Name": "a", "Good": "b", "X-Name": "a\u{1}b", "X-Padded": " padded "]
    let fields = try #require(HTTPRequest(plain: request)).headerFields
    #expect(fields.dictionary == ["Good": "b", "X-Name": "a b", "X-Padded": "padded"])
  }

  @Test("The lines of a name are combined in order, with the name of the first (RFC 9110 §5.3)")
  func combined() throws {
    let name = try #require(HTTPField.Name("x-list"))
    let other = try #require(HTTPField.Name("X-List"))
    let fields: HTTPFields = [name: "ä", other: "b", .cookie: "a=1", .accept: "*/*", .cookie: "b=ü"]
    #expect(fields.dictionary == ["x-list": "ä, b", "Cookie": "a=1; b=ü", "Accept": "*/*"])
  }

  @Test(
    "The head of a request has the fields that Foundation adds", arguments: [nil, "br"] as [String?],
    [nil, "bytes=0-1"] as [String?])
  func added(coding: String?, range: String?) throws {
    var request = URLRequest(url: try #require(url))
    request.setValue(coding, forHTTPHeaderField: "Accept-Encoding")
    request.setValue(range, forHTTPHeaderField: "Range")
    let fields = try #require(HTTPRequest(request)).headerFields
    #expect(
      fields[.acceptEncoding]
        == coding ?? (range == nil ? SystemFields.acceptEncoding(scheme: "http") : "identity"))
    for field in SystemFields.all { #expect(fields[field.name] == field.value) }
  }
}
