// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import NIOCore

extension ByteBuffer {
  /// Writes a text into the free capacity, and grows if that is not enough.
  ///
  /// - Parameter write: called a second time if the text exceeds the capacity.
  mutating func writeText(_ write: (inout ByteWriter) -> Void) {
    // Enough for nearly all heads.
    var missing: Int? = 1024
    while let capacity = missing {
      writeWithOutputRawSpan(minimumWritableBytes: capacity) { missing = ByteWriter.append(to: &$0, write) }
    }
  }
}
