import HTTPCacheEngine
import HTTPCacheStore

/// What is stored under a request's key: entries of the store, and what the engine reads in them.
struct Candidates: Sendable {
  var entries: [StoredEntry] = []
  var responses: [StoredResponse] = []

  /// Entries whose head cannot be read, as one of another version, are left out, and so are those that were invalidated
  /// with their group or origin.
  init(_ stored: StoredEntries, under key: CacheKey, in store: CacheStore) {
    entries.reserveCapacity(stored.count)
    responses.reserveCapacity(stored.count)
    for entry in stored {
      guard var response = StoredResponse(decoding: entry.metadata) else { continue }
      if store.mayBeMarked(entry.id),
        response.scopes(under: key).contains(where: { store.isMarked(entry.id, in: StoreScope($0)) })
      {
        continue
      }
      response.contentLength = Int64(entry.bodyCount)
      entries.append(entry)
      responses.append(response)
    }
  }

  init() {}
}
