// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// A reader of feeds on the command line:
//
//   feed-reader                  reads the feed of a server that comes with it
//   feed-reader --offline        reads what was stored, without a server
//   feed-reader URL …            reads feeds from elsewhere

let arguments = CommandLine.arguments.dropFirst()
let isOffline = arguments.contains("--offline")
let urls = arguments.filter { !$0.hasPrefix("-") }
if let unknown = arguments.first(where: { $0.hasPrefix("-") && $0 != "--offline" }) {
  print("feed-reader: \(unknown) is unknown. Usage: feed-reader [--offline] [URL …]")
  exit(64)
}

let directory = FileManager.default.temporaryDirectory.appendingPathComponent("feed-reader")
do {
  let cache = try HTTPCache(.init(memoryCapacity: 4 << 20, diskCapacity: 64 << 20, directory: directory))
  defer { cache.close() }
  let reader = FeedReader(cache: cache, isOffline: isOffline)
  if urls.isEmpty {
    // The address is always the same, for it is part of what responses are stored under.
    let server = isOffline ? nil : try FeedServer(port: 8642)
    defer { server?.stop() }
    try await reader.show("http://127.0.0.1:8642/feed.xml")
    if let server {
      print("\nAgain, a moment later:")
      try await reader.show("http://127.0.0.1:8642/feed.xml")
      print("\nThe server has answered \(server.requestCount) requests.")
    }
  } else {
    for url in urls { try await reader.show(url) }
  }
} catch {
  print("feed-reader: \(error.localizedDescription)")
  exit(1)
}
