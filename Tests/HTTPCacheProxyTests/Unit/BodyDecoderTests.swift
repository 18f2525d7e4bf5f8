// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore
import Testing

@testable import HTTPCacheProxy

@Suite("Chunked content", .timeLimit(.minutes(10)))
struct BodyDecoderTests {
  @Test(
    "Origins may pad the size of a chunk, and clients may not (RFC 9112 §7.1)",
    arguments: [
      ("1", true, true), ("1;a", true, true), ("1 ;a=b", true, true), ("1\t; a", true, true),
      ("1;a ", true, true),
      ("1 ", false, true), ("1\t", false, true), ("1   ", false, true), ("1 a", false, false),
      (" 1", false, false),
    ])
  func padding(size: String, inRequest: Bool, inResponse: Bool) {
    for (isResponse, isValid) in [(false, inRequest), (true, inResponse)] {
      for size in [size, size.replacing("1", with: "0")] {
        var decoder = BodyDecoder(.chunked, limits: .init(), isResponse: isResponse)
        var buffer = ByteBuffer(string: "\(size)\r\nx\r\n")
        if isValid {
          #expect(throws: Never.self) { try decoder.next(from: &buffer) }
        } else {
          #expect(throws: MessageFault.self) { try decoder.next(from: &buffer) }
        }
      }
    }
  }
}
