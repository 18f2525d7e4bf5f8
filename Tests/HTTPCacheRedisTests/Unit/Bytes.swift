// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

/// Bytes of the protocol as an argument of a test, with a name that fits a line.
struct Bytes: CustomTestStringConvertible, Sendable {
  var text: String
  init(_ text: String) { self.text = text }
  var testDescription: String { String(text.debugDescription.prefix(60)) }
}
