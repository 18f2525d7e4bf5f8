// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Testing

@testable import HTTPCacheURLSession

@Suite("Credentials that an origin has accepted")
struct KnownCredentialsTests {
  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  @Test(
    "They are sent to the same folder and below, of the same origin (RFC 7617 §2.2)",
    arguments: [
      ("http://a.example/b/c", true), ("http://a.example/b/d", true), ("http://a.example/b/d/e?f", true),
      ("http://A.example:80/b/", true), ("http://a.example/b", false), ("http://a.example/bc", false),
      ("http://a.example/", false), ("http://a.example", false), ("https://a.example/b/c", false),
      ("http://a.example:81/b/c", false), ("http://b.example/b/c", false), ("data:,x", false),
    ])
  func space(text: String, isKnown: Bool) throws {
    var known = KnownCredentials()
    known.accept("Basic x", for: try url("http://a.example/b/c"))
    #expect(known.authorization(for: try url(text)) == (isKnown ? "Basic x" : nil))
  }

  @Test("The deepest folder counts, and a URL's own user and password come first")
  func precedence() throws {
    var known = KnownCredentials()
    known.accept("deep", for: try url("http://a.example/b/c"))
    known.accept("high", for: try url("http://a.example"))
    #expect(known.authorization(for: try url("http://a.example/b/x")) == "deep")
    #expect(known.authorization(for: try url("http://a.example/x")) == "high")
    #expect(known.authorization(for: try url("http://u:p%3A@a.example/b/x")) == "Basic dTpwOg==")
  }

  @Test("Refused credentials are forgotten, new ones replace others, and the oldest leave first")
  func bounds() throws {
    var known = KnownCredentials()
    let first = try url("http://a.example/0/")
    known.accept("old", for: first)
    known.accept("new", for: first)
    #expect(known.authorization(for: first) == "new")
    known.refuse("new", for: first)
    #expect(known.authorization(for: first) == nil)
    for number in 0...KnownCredentials.limit {
      known.accept("\(number)", for: try url("http://a.example/\(number)/"))
    }
    #expect(known.authorization(for: first) == nil)
    #expect(known.authorization(for: try url("http://a.example/1/")) == "1")
  }
}
