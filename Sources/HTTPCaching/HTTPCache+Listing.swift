// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache {
  /// A response in the list of ``HTTPCache/storedResponses(_:)``.
  public struct ListedResponse: Sendable, Hashable {
    /// The target's URL, in its normal form; without its query if URLs share the response by `No-Vary-Search`.
    public let url: String
    /// The partition of the response.
    public let partition: String
    /// The method that it answers: `GET`, or `QUERY`.
    public let method: HTTPRequest.Method
    /// Its status.
    public let status: HTTPResponse.Status
    /// Bytes of its content that are stored, with its content coding.
    public let contentLength: Int
    /// Whether the whole content is stored. Otherwise, the stored parts can answer ranges, and the rest is loaded when it is
    /// needed.
    public let isComplete: Bool
    /// Bytes that it occupies in memory; 0 if it is not in memory.
    public let memoryBytes: Int
    /// Bytes that it occupies on disk; 0 if it is not on disk.
    public let diskBytes: Int
    /// The time when it was stored or last validated, by the wall clock.
    public let storedAt: Timestamp
    /// What selects the response among the variants; `nil` unless the URL is that of a request with GET.
    let selecting: SelectingFields?
  }

  /// The list of stored responses: see ``HTTPCache/storedResponses(_:)``.
  public struct StoredResponses: AsyncSequence, Sendable {
    public typealias Element = ListedResponse
    public typealias Failure = Never

    let cache: HTTPCache
    let selection: Selection

    /// Begins a list.
    public func makeAsyncIterator() -> Iterator { Iterator(cache, selection) }

    /// Reads a list from its beginning.
    public struct Iterator: AsyncIteratorProtocol {
      private let listing: Listing
      /// `nil` at the end.
      private var position: CacheStore.ListPosition?
      private var page: ArraySlice<ListedResponse> = []

      fileprivate init(_ cache: HTTPCache, _ selection: Selection) {
        listing = Listing(cache, selection)
        position = selection.extent == .patterns([]) ? nil : cache.store.startOfList
      }

      /// Returns the next response; `nil` at the end, or if the task is cancelled.
      public mutating func next() async -> ListedResponse? { await next(isolation: nil) }

      /// Returns the next response; `nil` at the end, or if the task is cancelled.
      public mutating func next(isolation actor: isolated (any Actor)?) async -> ListedResponse? {
        while page.isEmpty, let start = position, !Task.isCancelled {
          let found = await BlockingExecutor.run { [listing] in listing.page(from: start) }
          (page, position) = (found.responses[...], found.next)
        }
        return page.popFirst()
      }
    }
  }

  /// Lists the stored responses: those in memory and those on disk, in no particular order.
  ///
  /// ```swift
  /// for await response in cache.storedResponses() {
  ///   print(response.url, response.diskBytes)
  /// }
  /// ```
  ///
  /// Use it to show a user what is stored, or to see what a cache has stored and why a directory is large. For the sums
  /// alone, ``usage`` needs no list.
  ///
  /// Each stored response is one element, so a URL with several variants has several. What is removed is not listed. The bytes include fields and keys. ``usage`` is larger than their sum: it
  /// includes what has been removed and still occupies space, indexes and annotations.
  ///
  /// The list is read page by page while you iterate, on threads that may block on the disk: no page has more than some
  /// hundred responses, and neither requests nor removals wait for it. Responses that are removed meanwhile are left out if
  /// their page is still to come, and those that are stored meanwhile are left out always. A response that moves between
  /// memory and disk meanwhile may appear twice, or not at all. A response that is read for the list does not count as used.
  ///
  /// - Parameter selection: the responses to list (default: all).
  /// - Complexity: O(*n*) for the whole list, in the number of responses stored in this cache, with one read for each
  ///   response on disk. O(1) in memory.
  public func storedResponses(_ selection: Selection = .all) -> StoredResponses {
    StoredResponses(cache: self, selection: selection)
  }
}

/// Coded with the names of its properties; `storedAt` is in milliseconds since 1970.
extension HTTPCache.ListedResponse: Codable {
  private enum CodingKeys: String, CodingKey {
    case url, partition, method, status, contentLength, isComplete, memoryBytes, diskBytes, storedAt
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(url, forKey: .url)
    try container.encode(partition, forKey: .partition)
    try container.encode(method.rawValue, forKey: .method)
    try container.encode(status.code, forKey: .status)
    try container.encode(contentLength, forKey: .contentLength)
    try container.encode(isComplete, forKey: .isComplete)
    try container.encode(memoryBytes, forKey: .memoryBytes)
    try container.encode(diskBytes, forKey: .diskBytes)
    try container.encode(storedAt.millisecondsSince1970, forKey: .storedAt)
  }

  /// - Throws: `DecodingError`, also for an invalid method or status.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let code = try container.decode(Int.self, forKey: .status)
    guard let method = HTTPRequest.Method(rawValue: try container.decode(String.self, forKey: .method)),
      (100...999).contains(code)
    else {
      throw DecodingError.dataCorruptedError(
        forKey: .status, in: container,
        debugDescription: "expected a method, and a status code of three digits")
    }
    self.init(
      url: try container.decode(String.self, forKey: .url),
      partition: try container.decode(String.self, forKey: .partition), method: method,
      status: .init(code: code),
      contentLength: try container.decode(Int.self, forKey: .contentLength),
      isComplete: try container.decode(Bool.self, forKey: .isComplete),
      memoryBytes: try container.decode(Int.self, forKey: .memoryBytes),
      diskBytes: try container.decode(Int.self, forKey: .diskBytes),
      storedAt: Timestamp(milliseconds: try container.decode(Int64.self, forKey: .storedAt)),
      // Only the cache's own lists need it.
      selecting: nil)
  }
}

/// What makes the pages of a list.
private struct Listing: Sendable {
  let cache: HTTPCache
  let covers: CacheStore.Coverage
  let times: Range<Int64>?

  init(_ cache: HTTPCache, _ selection: HTTPCache.Selection) {
    let resolved = cache.resolved(selection)
    (self.cache, covers, times) = (cache, resolved.coverage, resolved.times)
  }

  /// Returns a page that is empty only at the end, or after some thousand entries without a selected response.
  func page(
    from start: CacheStore.ListPosition
  ) -> (responses: [HTTPCache.ListedResponse], next: CacheStore.ListPosition?) {
    var position = start
    for _ in 0..<32 {
      guard let entries = cache.store.page(at: &position) else { return ([], nil) }
      let responses = entries.compactMap(response)
      if !responses.isEmpty { return (responses, position) }
    }
    return ([], position)
  }

  private func response(_ entry: CacheStore.ListedEntry) -> HTTPCache.ListedResponse? {
    guard times?.contains(entry.storedAt) ?? true,
      let covered = CoveredEntry(entry.key, entry.metadata, by: covers), let cacheKey = covered.key,
      let response = covered.response,
      !response.scopes(under: cacheKey).contains(where: { cache.store.isMarked(entry.id, in: StoreScope($0)) }
      )
    else { return nil }
    let key = StoredKey(entry.key)
    guard key.anchor.map({ cache.responses.leads(from: $0.key, by: $0.nonce) }) ?? true else { return nil }
    return HTTPCache.ListedResponse(
      url: key.url, partition: key.partition,
      method: key.kind == .query ? HTTPRequest.Method(rawValue: "QUERY") ?? .get : .get,
      status: response.status, contentLength: entry.bodyCount, isComplete: response.parts == nil,
      memoryBytes: entry.memoryBytes, diskBytes: entry.diskBytes,
      storedAt: Timestamp(milliseconds: entry.storedAt),
      selecting: key.kind == .get ? response.selecting : nil)
  }
}

extension ResponseStore {
  /// Whether an anchor or index still leads to the entries with a nonce: if it was removed, they are removed with it.
  fileprivate func leads(from key: StoreKey, by nonce: UInt64) -> Bool {
    func leads(_ entry: StoredEntry) -> Bool {
      (VariantIndex(entry)?.nonce ?? Anchor(entry.metadata)?.nonce) == nonce
    }
    // What memory has is not counted as a lookup.
    return store.peek(key).contains(where: leads)
      || (entries(for: key, atOnce: false)?.contains(where: leads) ?? false)
  }
}
