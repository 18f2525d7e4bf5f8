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
//   feed-reader --offline-first  shows what was stored at once, then asks the origin, and prints what is new
//   feed-reader URL …            reads feeds from elsewhere
//   feed-reader --keep [URL …]   keeps pages for later, of its own server unless there is a URL
//   feed-reader --kept           lists what is kept
//   feed-reader --release URL …  keeps it no longer

let arguments = CommandLine.arguments.dropFirst()
let isOffline = arguments.contains("--offline")
let isOfflineFirst = arguments.contains("--offline-first")
let urls = arguments.filter { !$0.hasPrefix("-") }
if let unknown = arguments.first(where: {
  $0.hasPrefix("-") && !["--offline", "--offline-first", "--keep", "--kept", "--release"].contains($0)
}) {
  print(
    "feed-reader: \(unknown) is unknown. "
      + "Usage: feed-reader [--offline | --offline-first | --keep | --kept | --release] [URL …]")
  exit(64)
}

let directory = FileManager.default.temporaryDirectory.appendingPathComponent("feed-reader")
do {
  let cache = try HTTPCache(.init(memoryCapacity: 4 << 20, diskCapacity: 64 << 20, directory: directory))
  defer { cache.close() }
  let reader = FeedReader(cache: cache, isOffline: isOffline)
  if arguments.contains("--kept") {
    reader.printKept()
  } else if arguments.contains("--release") {
    for url in urls { try await reader.release(url) }
  } else if arguments.contains("--keep") {
    let server = urls.isEmpty ? try FeedServer(port: 8642, weather: "Rain, and later more of it.") : nil
    defer { server?.stop() }
    for url in urls.isEmpty ? ["http://127.0.0.1:8642/feed.xml"] : Array(urls) { try await reader.keep(url) }
  } else if urls.isEmpty {
    // The address is always the same, for it is part of what responses are stored under.
    let address = "http://127.0.0.1:8642/feed.xml"
    let weather = isOfflineFirst ? "Sun, and no rain in sight." : "Rain, and later more of it."
    let server = isOffline ? nil : try FeedServer(port: 8642, weather: weather)
    defer { server?.stop() }
    if isOfflineFirst {
      try await reader.showOfflineFirst(address)
    } else {
      try await reader.show(address)
    }
    if let server, !isOfflineFirst {
      print("\nAgain, a moment later:")
      try await reader.show(address)
      print("\nThe server has answered \(server.requestCount) requests.")
    }
  } else {
    for url in urls {
      if isOfflineFirst { try await reader.showOfflineFirst(url) } else { try await reader.show(url) }
    }
  }
} catch {
  print("feed-reader: \(error.localizedDescription)")
  exit(1)
}
