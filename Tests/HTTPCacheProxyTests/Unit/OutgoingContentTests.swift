// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import NIOCore
import Testing

@testable import HTTPCacheProxy

@Suite("Content that a connection sends in pieces")
struct OutgoingContentTests {
  @Test("Content counts as in flight while its connection alone has it", arguments: [true, false])
  func held(isHeld: Bool) {
    let transit = TransitBudget(capacity: 1 << 20)
    var content: OutgoingContent? = OutgoingContent(
      MessageBody([UInt8](repeating: 1, count: 5000)), isHeld: isHeld, transit: transit)
    #expect(transit.used == (isHeld ? 5000 : 0))
    var buffer = ByteBuffer()
    #expect(content?.moveNext(4000, to: &buffer) == 4000)
    #expect(content?.isEmpty == false)
    #expect(content?.moveNext(4000, to: &buffer) == 1000)
    #expect(content?.isEmpty == true)
    #expect(buffer.readableBytes == 5000)
    content = nil
    #expect(transit.used == 0)
  }
}
