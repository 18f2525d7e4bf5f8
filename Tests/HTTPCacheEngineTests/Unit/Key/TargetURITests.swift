// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite(.timeLimit(.minutes(10)))
struct TargetURITests {
  private let base = TargetURI(scheme: "http", authority: "a", path: "/b/c/d;p?q")

  @Test(
    "Equivalent spellings of a URI have one key (RFC 9110 §4.2.3)",
    arguments: [
      ("http", "example.com", "/"), ("http", "example.com:80", "/"), ("HTTP", "EXAMPLE.com", ""),
      ("http", "example.com:", "/"), ("http", "example.com", "/#fragment"),
    ])
  func normalised(scheme: String, authority: String, path: String) {
    let uri = TargetURI(scheme: scheme, authority: authority, path: path)
    #expect(uri.text == "http://example.com/")
    #expect(CacheKey(uri) == CacheKey(TargetURI(scheme: "http", authority: "example.com", path: "/")))
  }

  @Test("URIs that a server may distinguish have different keys")
  func distinct() {
    let uris: [(String, String, String)] = [
      ("http", "e", "/"), ("https", "e", "/"), ("http", "e:443", "/"), ("https", "e:80", "/"),
      ("http", "f", "/"),
      ("http", "e", "/?"), ("http", "e", "/a"), ("http", "e", "/A"), ("http", "e", "/?a"),
      ("http", "e", "/?A"),
      ("http", "e", "/~"), ("http", "e", "/%7E"), ("http", "e", "/%7e"), ("http", "e", "//"),
      ("http", "e", "/a/"),
      ("http", "[::1]", "/"), ("http", "[::1]:8080", "/"), ("http", "u@e", "/"), ("http", "U@e", "/"),
    ]
    let keys = uris.map { CacheKey(TargetURI(scheme: $0.0, authority: $0.1, path: $0.2)) }
    #expect(Set(keys).count == uris.count)
    #expect(CacheKey(TargetURI(scheme: "http", authority: "[::1]:80", path: "/")) == keys[15])
  }

  @Test(
    "A malformed authority is not changed",
    arguments: ["e::", "e:80:80", "e:1:", "]e:80:", "[::1:80"])
  func oddAuthorities(authority: String) {
    let uri = TargetURI(scheme: "http", authority: authority, path: "/")
    #expect(uri.authority == authority)
    #expect(base.resolving(uri.text) == uri)
  }

  @Test(
    "A reference without a valid host does not resolve (RFC 9110 §4.2.1)",
    arguments: [
      "http:///x", "//", "//:80/", "//:/", "http://u@/", "//u@:80/", "//a b/", "//a\\b/", "mailto:x",
    ])
  func noHost(reference: String) {
    #expect(base.resolving(reference) == nil)
  }

  @Test("Different partitions have different keys")
  func partitions() {
    let uri = TargetURI(scheme: "http", authority: "e", path: "/")
    let keys = ["", "a", "b", "ab", "http://e/"].map { CacheKey(uri, partition: $0) }
    #expect(Set(keys).count == keys.count)
  }

  @Test(
    "A request with an incomplete or ambiguous target is not cacheable",
    arguments: [
      (nil, "e", "/"), ("http", nil, "/"), ("http", "e", nil), ("http", "", "/"), ("", "e", "/"),
      ("http", "e/x", "/"), ("http", "e?x", "/"), ("http", "e#x", "/"), ("http", "e\\x", "/"),
      ("http", "e x", "/"), ("http", ":", "/"), ("http", ":80", "/"), ("http", "u@", "/"),
      ("http", "u@:80", "/"),
      ("http", "e", ".evil/"), ("http", "e", "x"), ("http", "e", "*"), ("http://x", "e", "/"),
      ("1", "e", "/"), ("http", "u@e", "/"), ("http", "u:p@e", "/"), ("http", "@e", "/"),
      ("http", "e", "/r#f"), ("http", "e", "/r?q#"), ("http", "e", "#"), ("http", "e", "/r#\u{301}f"),
      ("http", "e", "?q"), ("http", "e", "?u=http://f/"), ("http", "e", "/r s"),
      ("http", "e", "/r\u{7F}s"), ("http", "e", "/\\f/r"), ("http", "e", "/r?a\\b"),
      ("http", "e", "/r\u{FFFD}"),
      ("http", "e", "/long-enough-for-words-of-eight-bytes#f"), ("http", "e\u{301}", "#"),
    ] as [(String?, String?, String?)])
  func incomplete(scheme: String?, authority: String?, path: String?) throws {
    let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
    #expect(CacheKey(request) == nil)
    #expect(CacheEngine.privately.plan(request, []).reason == .targetNotCacheable)
    #expect(CacheEngine.privately.firstOutcome(request, response()).refusal == .targetNotCacheable)
    // Whatever reason a caller gives.
    var forwarding = try #require(CacheEngine.privately.plan(request, []).forwarding)
    forwarding.reason = .queryNotKeyed
    let exchange = CacheEngine.Exchange(
      forwarding: forwarding, candidates: [], result: .response(response()), requestTime: arrival,
      responseTime: arrival)
    #expect(CacheEngine.privately.outcome(of: exchange).refusal == .targetNotCacheable)
  }

  @Test("A path with characters that all servers read alike is cacheable, whatever their octets")
  func oddPaths() throws {
    for path in [
      "/%23", "/%5C%00%20", "//e/r", "/.././r", "/é", "/e\u{301}", "/字?ß", "/[]{}|^`<>\"'!$&()*+,;=:@~", "/?",
      "",
    ] {
      let request = HTTPRequest(method: .get, scheme: "http", authority: "e", path: path)
      let key = try #require(CacheKey(request), "\(path)")
      #expect(key.bytes == Array("http://e\(path.isEmpty ? "/" : path)".utf8))
    }
    let (composed, decomposed) = (base.resolving("/é"), base.resolving("/e\u{301}"))
    #expect(composed != decomposed)
  }

  @Test("Each octet that servers read differently takes the key away, wherever it is in the path")
  func everyPosition() {
    let plain = Array("/0123456789abcdefgh?ijklmnopq".utf8)
    for byte in UInt8(0)..<0x80 {
      let isRead = byte > 0x20 && byte != 0x7F && !"#\\".utf8.contains(byte)
      for position in 1..<plain.count {
        var path = plain
        path[position] = byte
        let request = HTTPRequest(
          method: .get, scheme: "http", authority: "e", path: String(decoding: path, as: UTF8.self))
        // HTTPTypes refuses some control characters itself.
        guard request.path?.utf8.elementsEqual(path) == true else { continue }
        #expect((CacheKey(request) != nil) == isRead, "\(byte) at \(position)")
        #expect((TargetURI(request) != nil) == isRead, "\(byte) at \(position)")
      }
    }
  }

  @Test(
    "A request that names two hosts is not cacheable, and is not answered from the store (RFC 9112 §3.2)",
    arguments: [
      (["Host: e"], false), (["Host: f"], false), (["Host: "], false), (["Host: e", "Host: f"], false),
      (["hOST: f"], false), (["Hosts: f", "From: host", "Hos: f"], true),
      (["X: f", "From: e", "Cache-Control: max-age=9", "Host: f"], false),
    ])
  func hosts(lines: [String], isCacheable: Bool) throws {
    let plain = HTTPRequest(method: .get, scheme: "http", authority: "e", path: "/r")
    var request = plain
    request.headerFields = HTTPFields(lines: lines)
    #expect((CacheKey(request) != nil) == isCacheable)
    #expect((TargetURI(request) != nil) == isCacheable)
    let engine = CacheEngine.privately
    let stored = try #require(engine.stored(response(200, "Cache-Control: max-age=60"), for: plain))
    for candidates in [[], [stored]] {
      let plan = engine.plan(request, candidates)
      #expect((plan.reason == .targetNotCacheable) == !isCacheable)
      #expect((plan.service != nil) == (isCacheable && !candidates.isEmpty))
    }
    let hit = stored.encoded().withUnsafeBytes { bytes in
      engine.hit(for: request, policy: .useProtocolCachePolicy, stored: bytes.bytes, now: arrival)
    }
    if !isCacheable { #expect(hit == nil) }
    #expect(engine.firstOutcome(request, response()).refusal == (isCacheable ? nil : .targetNotCacheable))
  }

  @Test(
    "References resolve as in the examples of RFC 3986 §5.4",
    arguments: [
      ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"),
      ("g?y", "/b/c/g?y"), ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), ("g?y#s", "/b/c/g?y"), (";x", "/b/c/;x"),
      ("g;x", "/b/c/g;x"), ("g;x?y#s", "/b/c/g;x?y"), ("", "/b/c/d;p?q"), (".", "/b/c/"), ("./", "/b/c/"),
      ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"), ("../..", "/"), ("../../", "/"), ("../../g", "/g"),
      ("../../../g", "/g"), ("../../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."),
      (".g", "/b/c/.g"), ("g..", "/b/c/g.."), ("..g", "/b/c/..g"), ("./../g", "/b/g"), ("./g/.", "/b/c/g/"),
      ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"), ("g;x=1/./y", "/b/c/g;x=1/y"), ("g;x=1/../y", "/b/c/y"),
      ("g?y/./x", "/b/c/g?y/./x"), ("g?y/../x", "/b/c/g?y/../x"), ("g#s/./x", "/b/c/g"),
      ("g#s/../x", "/b/c/g"),
      ("?", "/b/c/d;p?"), ("g?y?z", "/b/c/g?y?z"),
    ])
  func references(reference: String, path: String) {
    #expect(base.resolving(reference)?.text == "http://a" + path)
  }

  @Test(
    "References with an authority resolve, and references outside HTTP do not",
    arguments: [
      ("//g", "http://g/"), ("//G:80/x/../y", "http://g/y"), ("https://g:443", "https://g/"),
      ("HTTP://A/b", "http://a/b"), ("http://g?x", "http://g/?x"), ("http://g/a?b#c", "http://g/a?b"),
      ("g:h", nil), ("http:g", nil), ("mailto:a@b", nil), ("http://", nil), ("///x", nil), ("http:///x", nil),
    ] as [(String, String?)])
  func absolute(reference: String, text: String?) {
    #expect(base.resolving(reference)?.text == text)
  }

  @Test("A colon in a path does not make a scheme")
  func colons() {
    #expect(base.resolving("./g:h")?.text == "http://a/b/c/g:h")
    #expect(base.resolving("1:2")?.text == "http://a/b/c/1:2")
    #expect(base.resolving("/x:y")?.text == "http://a/x:y")
  }

  @Test("Dot segments are removed from long paths")
  func manySegments() {
    let long = String(repeating: "../a/", count: 20_000)
    #expect(base.resolving(long)?.path == "/b/a/")
  }
}
