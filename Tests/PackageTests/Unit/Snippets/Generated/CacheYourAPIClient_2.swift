// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheURLSession

private func CacheYourAPIClient_2() async throws {
  func watch(_ cache: HTTPCache) async {
    for await event in cache.events(of: [.notStored]) {
      print(event)
    }
  }
}
