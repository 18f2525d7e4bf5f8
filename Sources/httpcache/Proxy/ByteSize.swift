// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser

/// A number of bytes, such as `256MB`, `10GB`, `64KiB` or `1048576`.
struct ByteSize: ExpressibleByArgument, Hashable, Sendable {
  var bytes: Int

  init(bytes: Int) {
    self.bytes = bytes
  }

  /// Units are powers of 1024, with or without an `i`.
  init?(argument: String) {
    let digits = argument.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int(digits), number >= 0 else { return nil }
    let shift: Int
    switch argument[digits.endIndex...].lowercased() {
    case "", "b": shift = 0
    case "k", "kb", "kib": shift = 10
    case "m", "mb", "mib": shift = 20
    case "g", "gb", "gib": shift = 30
    case "t", "tb", "tib": shift = 40
    default: return nil
    }
    let (bytes, overflow) = number.multipliedReportingOverflow(by: 1 << shift)
    if overflow { return nil }
    self.bytes = bytes
  }

  var defaultValueDescription: String {
    bytes >= 1 << 30 && bytes % (1 << 30) == 0 ? "\(bytes >> 30)GB" : "\(bytes >> 20)MB"
  }
}
