// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import Foundation
import HTTPCacheEngine
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("The target of a request from the text of its URL")
struct PlainURLTests {
  @Test(
    "Plain URLs are read without URLComponents, with the same result",
    arguments: [
      "http://a.example/", "https://a.example/b/c?d=e&f", "http://a.example",
      "http://a.example/b#top", "http://a.example/b?#top", "http://a.example/b?", "http://a.example/?a?b/c",
      "http://127.0.0.1:8080/fresh", "https://a.example:443/", "http://a.example:80/b", "http://A.Example/B",
      "http://a.example/%7Eb/%C3%A4?%20", "http://a.example//b//c/../d/./e", "http://a_b.example/",
      "http://a/~-._",
      "http://a.example/!$&'()*+,=:@", "http://a.example:65535/", "http://a.example/b%2Fc",
      "http://a.example./", "http://ä.example/",
    ])
  func plain(text: String) throws {
    let url = try #require(URL(string: text))
    let plain = try #require(PlainURL(url))
    let expected = HTTPRequest(method: .get, url: url)
    #expect(plain.scheme == expected.scheme)
    #expect(plain.authority == expected.authority)
    #expect(plain.path == expected.path)
  }

  @Test(
    "Other URLs are left to URLComponents",
    arguments: [
      "HTTP://a.example/", "hTTps://a.example/", "http://user@a.example/", "http://user:word@a.example:80/b",
      "http://[::1]/", "http://[::1]:8080/b", "http://[fe80::1%25eth0]/", "http://a.example:/",
      "http://a.example:080/",
      "http://a.example:999999/", "http://a.example?b", "http://a.example/b;c", "http://a%2Eb.example/",
      "ftp://a.example/",
      "https://a.example#top", "http://", "http:///b", "http:a", "mailto:a@b.example", "httpsx://a/",
      "http:/a",
    ])
  func other(text: String) {
    guard let url = URL(string: text) else { return }
    #expect(PlainURL(url) == nil)
  }

  @Test(
    "An anchor, credentials in the URL, and the URL's own host as a field leave the key of the page as it is",
    arguments: [
      ("http://a.example/b?c#top", nil), ("http://a.example/b?c#", nil), ("http://u:p@a.example/b?c", nil),
      ("http://u@A.example:80/b?c#top", nil), ("http://a.example/b?c", "a.example"),
      ("http://a.example/b?c", "A.EXAMPLE"),
    ] as [(String, String?)])
  func keys(text: String, host: String?) throws {
    var request = URLRequest(url: try #require(URL(string: text)))
    request.setValue(host, forHTTPHeaderField: "Host")
    let head = try #require(HTTPRequest(request))
    #expect(CacheKey(head)?.bytes == Array("http://a.example/b?c".utf8))
    // A field with the name of another site leaves the request without a key.
    request.setValue("b.example", forHTTPHeaderField: "Host")
    let other = try #require(HTTPRequest(request))
    #expect(CacheKey(other) == nil)
  }

  @Test("A URL with a base has the target of the absolute URL")
  func relative() throws {
    let base = try #require(URL(string: "http://a.example/b/c?d"))
    for text in ["e", "../e", "?f", "//g.example/", "http://h.example/i", ""] {
      guard let url = URL(string: text, relativeTo: base), let plain = PlainURL(url) else { continue }
      #expect(HTTPRequest(method: .get, url: url).path == plain.path)
      #expect(HTTPRequest(method: .get, url: url).authority == plain.authority)
    }
  }

  @Test("The target of any URL equals that of HTTPTypes", arguments: [1, 2, 3, 4] as [UInt64])
  func random(seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    let pieces = [
      "a", "B", "0", "9", ".", "-", "_", "~", ":", ":80", ":0", "/", "//", "?", "#", "%", "%41", "%c3%a4",
      "%zz", "[", "]", "::1",
      "@", "u:p@", ";", "&", "=", "+", " ", "ä", "字", "😀", "\\", "|", "{", "^", "`", "\"", "<", "\t", "..",
      "/../", "*", "'", "xn--4ca",
    ]
    var (count, plainCount) = (0, 0)
    for _ in 0..<5000 {
      let scheme =
        ["http://", "https://", "HTTP://", "http://a", "https://a.example/"].randomElement(using: &generator)
        ?? ""
      let text = (0..<Int.random(in: 0...8, using: &generator)).reduce(scheme) { text, _ in
        text + (pieces.randomElement(using: &generator) ?? "")
      }
      guard let url = URL(string: text), url.host?.isEmpty == false,
        let components = URLComponents(url: url, resolvingAgainstBaseURL: true), components.string != nil
      else { continue }
      count += 1
      guard let plain = PlainURL(url) else { continue }
      plainCount += 1
      let expected = HTTPRequest(method: .get, url: url)
      #expect(plain.scheme == expected.scheme, "\(text)")
      #expect(plain.authority == expected.authority, "\(text)")
      #expect(plain.path == expected.path, "\(text)")
    }
    #expect(count > 500)
    #expect(plainCount > 100)
  }

  @Test("A request with an invalid method has no head", arguments: ["NOT A METHOD", "GÉT"])
  func invalidMethod(method: String) throws {
    var request = URLRequest(url: try #require(URL(string: "http://a.example/b")))
    request.httpMethod = method
    #expect(HTTPRequest(request) == nil)
  }
}
