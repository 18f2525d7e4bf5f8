// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// swift-format-ignore-file
// `make snippets` writes this file.

import HTTPCacheEngine
import HTTPTypes

private func ClientFromEngineAndStore_3() async throws {
  func answer(
    _ stored: StoredResponse, _ content: [UInt8], _ selection: CacheEngine.ContentSelection, age: Duration?
  ) -> (head: HTTPResponse, content: [UInt8]) {
    // No content must contain it: it separates several ranges.
    let boundary = String(UInt64.random(in: .min ... .max), radix: 36)
    let pieces = stored.pieces(of: selection, boundary: boundary)
    let bytes = pieces.flatMap { piece in
      switch piece {
      case .text(let text): Array(text.utf8)
      case .stored(let range): Array(content[Int(range.lowerBound)..<min(Int(range.upperBound), content.count)])
      }
    }
    return (stored.response(selection, age: age, boundary: boundary), bytes)
  }
}
