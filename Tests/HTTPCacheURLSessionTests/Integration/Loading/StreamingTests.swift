// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheURLSession
import HTTPCaching
import HTTPTypes
import Loopback
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Content that is streamed to an origin and from it", .timeLimit(.minutes(10)))
struct StreamingTests {
  // MARK: - From the origin

  @Test("If a reader leaves early, little more of the content is sent")
  func leaving() async throws {
    let (length, leaves) = (128 << 20, 8)
    let content = [UInt8](repeating: 0, count: length)
    let sent = Recorder<Int>()
    try await Setting.with { _ in
      .init(fields: [.cacheControl: "no-store"], bytes: content) { sent.add($0) }
    } test: { setting async throws in
      let session = HTTPCacheSession(cache: setting.cache, configuration: .ephemeral.patient)
      for number in 1...leaves {
        do {
          let (bytes, _) = try await session.bytes(for: setting.request("/\(number)"))
          var count = 0
          for try await chunk in bytes.chunks {
            count += chunk.count
            if count > 1 << 20 { break }
          }
        }
        try await sent.reach(number)
      }
      // What was read, and what the kernel's buffers contain.
      #expect(sent.all.allSatisfy { $0 < 64 << 20 }, "\(sent.all)")
    }
  }
}
