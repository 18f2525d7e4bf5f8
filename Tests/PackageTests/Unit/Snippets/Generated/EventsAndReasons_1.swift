// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCaching

private func EventsAndReasons_1() async throws {
  func watch(_ cache: HTTPCache) async {
    for await event in cache.events(of: [.notStored]) {
      print(event)
    }
  }
}
