// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A property that entries have in common, so that they can be outdated together. It consists of bytes; the store
/// compares their hash and never interprets them.
///
/// An entry may belong to any number of scopes. The store does not know which. It only remembers when a scope was
/// marked, and the caller asks whether an entry it found is older. See ``CacheStore/mark(_:)``.
package struct StoreScope: Hashable, Sendable {
  /// The bytes of the scope.
  package let bytes: [UInt8]

  /// Creates a scope from these bytes.
  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// Creates a scope from the UTF-8 of the string.
  package init(_ string: String) {
    self.bytes = Array(string.utf8)
  }
}
