// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite(.timeLimit(.minutes(10)))
struct ContentCodingTests {
  @Test(
    "A coding is accepted if Accept-Encoding weights it, by name or by * (RFC 9110 §12.5.3)",
    arguments: [
      ([], nil, true), (["identity"], nil, true), (["gzip"], nil, false), (["gzip"], "", false),
      (["gzip"], "gzip", true), (["GZip"], "br;q=0.5, GZIP;q=0.1", true), (["gzip"], "gzip;q=0", false),
      (["gzip"], "gzip;q=0, *", false), (["br"], "gzip;q=0, *", true), (["br"], "gzip, *;q=0", false),
      (["gzip"], "x-gzip", true), (["x-gzip"], "gzip", true), (["gzip, br"], "gzip", false),
      (["gzip", "br"], "br, gzip", true), (["gzip"], "deflate, br", false), (["gzip"], "gzip;q=x", false),
    ] as [([String], String?, Bool)])
  func accepted(codings: [String], accepting: String?, isAccepted: Bool) {
    var request = HTTPFields()
    request[.acceptEncoding] = accepting
    #expect(ContentCoding.areAccepted(codings, by: request) == isAccepted)
  }
}
