// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import Testing

@testable import HTTPCaching

@Suite("Marks of entries that are not responses", .timeLimit(.minutes(10)))
struct RecordMarkTests {
  @Test("A mark is a byte that no stored response begins with", arguments: RecordMark.allCases)
  func isReserved(mark: RecordMark) {
    #expect(StoredResponse.reservedFirstBytes.contains(mark.rawValue))
  }

  @Test("An anchor is read back, and no other record is read as one")
  func anchor() {
    let anchor = Anchor(lines: ["key-order", "params=(\"a\")"])
    let read = Anchor(anchor.metadata)
    #expect(read?.nonce == anchor.nonce && read?.lines == anchor.lines)
    var other = anchor.metadata
    for mark in UInt8.min...UInt8.max where mark != RecordMark.anchor.rawValue {
      other[0] = mark
      #expect(Anchor(other) == nil)
    }
  }
}
