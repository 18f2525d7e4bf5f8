// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// The entries under a key that may answer a request.
struct FoundEntries: Sendable {
  var entries: StoredEntries
  /// What the lookup has seen of the key's variants; `nil` if there is one at most.
  var variants: KnownVariants?
}

/// A place for a response in the store.
typealias Place = (key: StoreKey, token: RemovalToken?)

/// Many variants under one key: see ``VariantIndex``.
extension ResponseStore {
  // MARK: - Finding

  /// Looks up the entries of a key that may answer a request: all of them, or those that an index leads to.
  ///
  /// If an index leads to none that the request selects, and the cache negotiates languages, the result has the variants that
  /// were used most recently.
  ///
  /// - Parameter atOnce: whether to return `nil` if the lookup would wait for the disk.
  func entries(of key: CacheKey, for request: HTTPRequest, atOnce: Bool) -> FoundEntries? {
    guard let entries = entries(for: key, atOnce: atOnce) else { return nil }
    if entries.isEmpty { return FoundEntries(entries: entries) }
    if let only = entries.only, only.variant != VariantIndex.variant { return FoundEntries(entries: entries) }
    return several(entries, of: key, for: request, atOnce: atOnce)
  }

  @inline(never)  // The hit of a resource with a single variant does without.
  private func several(
    _ entries: StoredEntries, of key: CacheKey, for request: HTTPRequest, atOnce: Bool
  ) -> FoundEntries? {
    var variants = known(entries)
    guard let index = variants.index else { return FoundEntries(entries: entries, variants: variants) }
    let key = StoreKey(key.bytes)
    let own = entries.filter { $0.variant != VariantIndex.variant }
    let selected = engine.variantKeys(of: request.headerFields, on: index.lists).map(store.fingerprint)
    variants.requested = selected
    var found = own.filter { selected.contains($0.variant) || unselectedVariants.contains($0.variant) }
    for id in selected {
      var isFound = variants.own.contains(id)
      if !isFound {
        guard let apart = self.entries(for: index.key(of: id, under: key), atOnce: atOnce) else {
          return nil
        }
        isFound = !apart.isEmpty
        found += apart
      }
      if isFound { variants.selected.append(id) }
    }
    if variants.selected.isEmpty, configuration.rules.negotiatesLanguage {
      found += mostRecent(own, under: key, by: index)
    }
    var ids: Set<EntryID> = []
    var all = StoredEntries(found.filter { ids.insert($0.id).inserted }.sorted { $0.id > $1.id })
    // Of the first of these lookups.
    all.markPasses = entries.markPasses
    return FoundEntries(entries: all, variants: variants)
  }

  private func known(_ entries: some Sequence<StoredEntry>) -> KnownVariants {
    var known = KnownVariants()
    for entry in entries.sorted(by: { $0.id < $1.id }) {
      if let index = VariantIndex(entry) {
        known.index = index
      } else if !unselectedVariants.contains(entry.variant) {
        known.own.append(entry.variant)
      }
    }
    return known
  }

  /// Maximum number of variants that are looked at for one in the language that a request prefers to all others.
  private static let mostNegotiated = 64

  /// Returns variants that memory holds, those used most recently first.
  private func mostRecent(
    _ own: [StoredEntry], under key: StoreKey, by index: VariantIndex
  ) -> ArraySlice<StoredEntry> {
    let recent = order.mostRecent(Self.mostNegotiated, under: store.number(of: key)).compactMap { variant in
      variant.isApart
        ? store.peek(index.key(of: variant.id, under: key)).first
        : own.first { $0.variant == variant.id }
    }
    return (recent + own).prefix(Self.mostNegotiated)
  }

  /// Returns what other requests must have in common with a request to share its fetch.
  func fetchKey(_ key: CacheKey, _ lookup: Lookup, for request: HTTPRequest) -> FetchKey {
    if let requested = lookup.variants?.requested, !requested.isEmpty {
      return FetchKey(key: key, variants: requested)
    }
    return FetchKey(key: key, variants: variantKeys(lookup, of: request).map(store.fingerprint))
  }

  /// Returns the same for the nodes of a shared tier.
  func leaseKey(_ key: CacheKey, _ lookup: Lookup, for request: HTTPRequest) -> [UInt8] {
    let variants = variantKeys(lookup, of: request)
    if variants.isEmpty { return key.bytes }
    var bytes = SharedBytes()
    bytes.add(key.bytes)
    bytes.add(SharedEntryForm.checksum(variants.flatMap { $0 }))
    return bytes.bytes
  }

  /// Returns the variant keys of a request, one for each list of names that `Vary` is known to nominate.
  private func variantKeys(_ lookup: Lookup, of request: HTTPRequest) -> [[UInt8]] {
    if let index = lookup.variants?.index {
      return engine.variantKeys(of: request.headerFields, on: index.lists)
    }
    let lists = Set(lookup.responses.compactMap(\.selectingNames)).subtracting([[]])
    if lists.isEmpty { return [] }
    return engine.variantKeys(
      of: request.headerFields, on: lists.sorted { $0.lexicographicallyPrecedes($1) })
  }

  /// Records that a stored response answers a request.
  func noteUse(of entry: StoredEntry, under key: CacheKey?, _ variants: KnownVariants?) {
    guard let key, let variants, !unselectedVariants.contains(entry.variant) else { return }
    order.use(
      variants.selected.isEmpty ? [entry.variant] : variants.selected,
      under: store.number(of: StoreKey(key.bytes)), variants)
  }

  // MARK: - Storing

  /// Returns the place of a response: the place of its resource, or one of its own if that has many variants. Those that
  /// were used least recently give way.
  ///
  /// - Parameters:
  ///   - place: the place of the resource.
  ///   - known: what a lookup of the resource has seen; `nil` if it was not looked up.
  /// - Returns: `nil` if the resource was removed meanwhile.
  func place(for stored: StoredResponse, in place: Place, known: KnownVariants?) -> Place? {
    guard let names = stored.selectingNames, !names.isEmpty else { return place }
    let id = store.fingerprint(of: stored.selecting.variantKey)
    var known = known ?? self.known(entries(for: place.key, atOnce: false) ?? StoredEntries())
    if known.index == nil {
      // Requests that were sent at the same time have stored theirs.
      let present = self.known(store.peek(place.key))
      if present.own.count >= known.own.count { known = present }
    }
    var target = place
    var (apart, isNew) = (VariantIndex?.none, false)
    if !known.own.contains(id), known.own.count >= mostVariants(under: place.key, by: known.index) {
      // A removal since the lookup removed that index: nothing leads to the response then.
      let present = known.index.flatMap { $0.contains(names) ? ($0, false) : nil }
      guard let (index, isFirst) = present ?? index(under: place, adding: names) else { return nil }
      (apart, isNew) = (index, isFirst)
      let key = index.key(of: id, under: place.key)
      target = (key, place.token.map { store.removalToken(for: key, since: $0) })
    }
    if apart != nil || known.own.contains(where: { $0 != id }) || known.index != nil {
      let (evicted, nonce) = order.add(
        id, under: store.number(of: place.key), known, apartBy: apart, isNew: isNew)
      for variant in evicted {
        guard variant.isApart else {
          store.evict(place.key, variant: variant.id)
          continue
        }
        let key = nonce.map { VariantIndex.key(of: variant.id, under: place.key, nonce: $0) }
        if let key { store.evict(key, variant: variant.id) }
      }
    }
    return target
  }

  /// The number of variants that are stored under the key of their resource.
  private func mostVariants(under key: StoreKey, by index: VariantIndex?) -> Int {
    let most = min(VariantIndex.most, configuration.maximumVariants)
    return store.isPinned(key) ? VariantIndex.mostPinned : index == nil ? most : 0
  }

  /// Returns the index under a key, with a list of names in it; makes the index if the key has none.
  ///
  /// - Returns: `nil` if the key was removed meanwhile.
  private func index(
    under place: Place, adding names: [String]
  ) -> (VariantIndex, isNew: Bool)? {
    anchorMaking.withLock { _ in
      let entries = entries(for: place.key, atOnce: false) ?? StoredEntries()
      let present = entries.lazy.compactMap { VariantIndex($0) }.first
      if let present, present.contains(names) { return (present, false) }
      var index = present ?? VariantIndex()
      if present == nil {
        for entry in entries.reversed() {
          entry.withMetadata { index.add(StoredResponse(decoding: $0)?.selectingNames ?? []) }
        }
      }
      index.add(names)
      let outcome = store.insert(
        index.entry(under: place.key, at: clock.wallTime), unlessRemovedSince: place.token)
      return outcome.id == nil ? nil : (index, present == nil)
    }
  }

  // MARK: - Removing

  /// Returns the keys of all variants that the index under a key leads to; `nil` if some of them may be unknown.
  func keysOfVariants(under key: StoreKey) -> [StoreKey]? {
    guard
      let index = (entries(for: key, atOnce: false) ?? StoredEntries()).lazy.compactMap({ VariantIndex($0) }
      ).first
    else { return [] }
    return order.all(apartBy: index, under: store.number(of: key))?.map { index.key(of: $0, under: key) }
  }

  /// Removes all variants under a key.
  ///
  /// - Returns: the number of responses.
  func removeVariants(under key: StoreKey, keepingPin: Bool) -> Int {
    // First, so that a variant that is stored meanwhile is not forgotten.
    let forgotten = order.forget(store.number(of: key))
    // Without the index, nothing leads to those that are apart.
    let count = store.remove(key, keepingPin: keepingPin)
    if !keepingPin { store.unpin { StoredKey($0).isVariant(under: key) } }
    guard let (apart, nonce) = forgotten, !apart.isEmpty else { return count }
    // So these evictions only make room.
    for id in apart { store.evict(VariantIndex.key(of: id, under: key, nonce: nonce), variant: id) }
    return max(0, count - 1) + apart.count
  }
}
