// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore

/// What is stored under a request's key: what the engine reads in the entries of the store, and the entry of each. An entry
/// comes several times where responses share its content.
struct Candidates: Sendable {
  var entries: [StoredEntry] = []
  var responses: [StoredResponse] = []

  /// Entries whose head cannot be read, as one of another version, are left out; so are those that were invalidated with
  /// their group or origin, and those that are not wanted.
  init(
    _ stored: StoredEntries, under key: CacheKey, in store: CacheStore,
    where isWanted: (StoredResponse) -> Bool = { _ in true }
  ) {
    entries.reserveCapacity(stored.count)
    responses.reserveCapacity(stored.count)
    for entry in stored {
      var decoded: [StoredResponse] = []
      entry.withMetadata { decoded = StoredResponse.all(decoding: $0) }
      for var response in decoded {
        if store.isInvalidated(response, entry.id, under: key) { continue }
        response.contentLength = Int64(entry.bodyCount)
        // Which bytes are where is told by the head: one that is not of this content says nothing.
        if let parts = response.parts, parts.count != Int64(entry.bodyCount) { continue }
        guard isWanted(response) else { continue }
        entries.append(entry)
        responses.append(response)
      }
    }
  }

  init() {}

  /// When the last of them arrived or was validated.
  var latest: Timestamp? { responses.map(\.facts.responseTime).max() }
}

extension CacheStore {
  /// Whether a key, or all of its origin, may have been removed since a token was taken. To whichever group a response will
  /// belong is not known by its key.
  func mayBeRemoved(_ key: CacheKey, since token: RemovalToken) -> Bool {
    mayBeRemoved(StoreKey(key.bytes), in: [StoreScope(key.scope())], since: token)
  }

  /// Whether a stored response was made invalid with its group or origin.
  func isInvalidated(_ response: StoredResponse, _ id: EntryID, under key: CacheKey) -> Bool {
    mayBeMarked(id) && response.scopes(under: key).contains { isMarked(id, in: StoreScope($0)) }
  }
}
