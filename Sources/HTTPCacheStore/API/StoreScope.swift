// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What entries have in common that are outdated together: bytes that the store compares by a hash and never interprets.
///
/// An entry may belong to any number of scopes. The store is not told which they are: it only remembers when a scope was
/// marked, and whoever finds an entry asks whether it is older. See ``CacheStore/mark(_:)``.
package struct StoreScope: Hashable, Sendable {
  /// The bytes of the scope.
  package let bytes: [UInt8]

  /// A scope of these bytes.
  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// A scope of the string's UTF-8.
  package init(_ string: String) {
    self.bytes = Array(string.utf8)
  }
}
