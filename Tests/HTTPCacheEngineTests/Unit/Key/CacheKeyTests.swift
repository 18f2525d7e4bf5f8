// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes
import Testing

@testable import HTTPCacheEngine

@Suite("Keys created directly from requests", .timeLimit(.minutes(10)))
struct CacheKeyTests {
  @Test("The key of a request equals the key of its target URI")
  func equalsLongWay() {
    let schemes = ["http", "HTTPS", "https", "ftp", "h", "", "http2", "httpx", "ht tp"]
    let hosts = [
      "a.example", "A.Example", "a.example:80", "a.example:443", "a.example:", "a.example:8080", ":80", "",
      "[::1]:80", "u:p@A.example", "ä.example", "a b", "a/b", "a.example:080", "192.168.0.1", "x_y",
    ]
    let paths = [
      "/", "", "/a/b?q=1#f", "?q", "*", "/%7e~", "/ä", "#", "/a#", "a", "/?#", "/a b", "/a\\b/c/d/e/f",
      "/a\u{7F}bcdefgh", "/0123456789?q=1&r=2",
    ]
    var count = 0
    for scheme in schemes {
      for host in hosts {
        for path in paths {
          for partition in ["", "p"] {
            let request = HTTPRequest(method: .get, scheme: scheme, authority: host, path: path)
            let long = TargetURI(request).map { CacheKey($0, partition: partition) }
            #expect(CacheKey(request, partition: partition) == long, "\(scheme) \(host) \(path)")
            if long != nil { count += 1 }
          }
        }
      }
    }
    #expect(count > 500)
  }
}
