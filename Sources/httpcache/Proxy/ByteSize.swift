// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCaching

/// A number of bytes, such as `256MB`, `10GB`, `64KiB` or `1048576`.
struct ByteSize: ExpressibleByArgument, Hashable, Sendable {
  var bytes: Int

  init(bytes: Int) {
    self.bytes = bytes
  }

  init?(argument: String) {
    guard let bytes = Quantity.bytes(argument) else { return nil }
    self.bytes = bytes
  }

  var defaultValueDescription: String {
    for (unit, shift) in [("GB", 30), ("MB", 20), ("KB", 10)]
    where bytes >= 1 << shift && bytes % (1 << shift) == 0 {
      return "\(bytes >> shift)\(unit)"
    }
    return "\(bytes)"
  }
}
