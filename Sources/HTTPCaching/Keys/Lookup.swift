// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// The stored responses for a request.
struct Lookup: Sendable {
  /// The key of the responses; `nil` if the request has no key.
  var key: CacheKey?
  /// The partition that the request belongs to.
  var partition: String
  /// The stored responses under the key: what the engine reads of each.
  var responses: [StoredResponse] = []
  /// The entry of each response.
  var entries: [StoredEntry] = []
  /// What was seen of the variants under the key; `nil` if there is one at most.
  var variants: KnownVariants?
  /// The target, if a response's `No-Vary-Search` may give it another key.
  var target: TargetURI?
  /// The anchor that all equivalents of the target share, by the `No-Vary-Search` of their path.
  var anchor: Anchor?
  /// Whether a candidate must be validated because the cache is not in step with its shared tier. It is then marked as
  /// invalidated.
  var isUnconfirmed = false
}

extension Lookup {
  /// Adds the responses in entries.
  ///
  /// Leaves out entries with an unreadable head, for example of another version. It also leaves out entries that were
  /// invalidated with their group or origin, and responses that the caller does not want.
  mutating func add(
    _ stored: StoredEntries, under key: CacheKey, in store: CacheStore,
    where isWanted: (StoredResponse) -> Bool
  ) {
    entries.reserveCapacity(stored.count)
    responses.reserveCapacity(stored.count)
    for entry in stored {
      var decoded: StoredResponse?
      entry.withMetadata { decoded = StoredResponse(decoding: $0) }
      guard var response = decoded, !store.isInvalidated(response, entry, in: stored, under: key) else {
        continue
      }
      response.contentLength = Int64(entry.bodyCount)
      // The head lists the ranges of bytes that are stored. If their sum does not fit this content, the list is
      // invalid.
      if let parts = response.parts, parts.count != Int64(entry.bodyCount) { continue }
      guard isWanted(response) else { continue }
      entries.append(entry)
      responses.append(response)
    }
  }

  /// The variants of those that a request selects by its fields.
  var selectedVariants: [VariantID] {
    zip(entries, responses).compactMap { $1.selectingNames?.isEmpty == false ? $0.variant : nil }
  }

  /// The time when the latest of them arrived or was validated.
  var latest: Timestamp? { responses.map(\.facts.responseTime).max() }

  /// What was seen of the variants under the key, also if there is one at most.
  var knownVariants: KnownVariants { variants ?? KnownVariants(own: selectedVariants) }
}

extension CacheStore {
  /// Whether a key, or all of its origin or partition, may have been removed since a token was taken. The groups of a
  /// response are not covered: its key does not contain them.
  func mayBeRemoved(_ key: CacheKey, since token: RemovalToken) -> Bool {
    mayBeRemoved(StoreKey(key.bytes), in: key.scopes.map { StoreScope($0) }, since: token)
  }

  /// Whether a stored response that was just found was invalidated with its group or origin.
  func isInvalidated(
    _ response: StoredResponse, _ entry: StoredEntry, in found: StoredEntries, under key: CacheKey
  ) -> Bool {
    mayBeMarked(entry, in: found)
      && (isInvalidated(response, entry.id, under: key) || isSettled(entry, in: found))
  }

  /// Whether a stored response was invalidated with its group or origin.
  func isInvalidated(_ response: StoredResponse, _ id: EntryID, under key: CacheKey) -> Bool {
    mayBeMarked(id) && response.scopes(under: key).contains { isMarked(id, in: StoreScope($0)) }
  }
}
