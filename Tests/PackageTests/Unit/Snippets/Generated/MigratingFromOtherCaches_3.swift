// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import Foundation
import HTTPCacheURLSession
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private func MigratingFromOtherCaches_3() async throws {
  func session(with cache: HTTPCache) -> URLSession {
    var options = CachingOptions()
    options.middleware = { transport in
      { request, body in  // only requests to origins, with the fields that the cache adds
        var request = request
        request.headerFields[.userAgent] = "my-app/1.0"
        let response = try await transport(request, body)
        print(request.method, request.path ?? "", response.head.status)
        return response
      }
    }
    return URLSession(configuration: .caching(with: cache, options: options))
  }

  func request(forceCache url: URL) -> URLRequest {
    URLRequest(url: url, cachePolicy: .returnCacheDataDontLoad)
  }

  func request(upToOneHourStale url: URL) -> URLRequest {
    var request = URLRequest(url: url)
    request.setValue("max-stale=3600", forHTTPHeaderField: "Cache-Control")
    return request
  }

  func count(_ cache: HTTPCache) {
    cache.observe([.served, .answered]) { event in
      print(event.uri, event.source.map { "\($0)" } ?? "no response")
    }
  }
}
