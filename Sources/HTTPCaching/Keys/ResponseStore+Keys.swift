// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension ResponseStore {
  // MARK: - Equivalent targets

  /// Returns the target that stands for a target.
  func keyed(_ target: TargetURI) -> TargetURI {
    let own = configuration.targetRule?(target) ?? target
    return ruleTable?.keyed(own) ?? own
  }

  /// Returns a request with the target that stands for its own.
  func keyed(_ request: HTTPRequest) -> HTTPRequest {
    // In this order: to look for a query takes 1,250 instructions, which no hit without such a rule pays.
    guard
      configuration.targetRule != nil
        || ruleTable != nil && request.path?.utf8.contains(UInt8(ascii: "?")) == true,
      let target = TargetURI(request).map({ self.keyed($0) })
    else { return request }
    var keyed = request
    keyed.scheme = target.scheme
    keyed.authority = target.authority
    keyed.path = target.path
    return keyed
  }

  // MARK: - Lookup

  /// The result of a lookup that does not wait for the disk.
  enum Immediate {
    /// All entries under the request's key.
    case entries(CacheKey, FoundEntries)
    /// The lookup would wait.
    case wouldWait
    /// The request has no key from its target URI alone, or needs no lookup.
    case otherwise
  }

  func immediate(
    for request: HTTPRequest, content: MessageBody = .empty, _ partition: String
  ) -> Immediate {
    let request = keyed(request)
    // A hit excludes a request with a `Host` field, and `lookup(of:_:for:_:)` does before any other use.
    guard content.length == 0, !configuration.rules.usesNoVarySearch, !request.method.isQuery,
      let key = CacheKey(targetOf: request, partition: partition)
    else { return .otherwise }
    return entries(of: key, for: request, atOnce: true).map { .entries(key, $0) } ?? .wouldWait
  }

  /// Returns what was found under a key that was made without a look at the request's fields.
  @inline(never)  // The check of the fields would be made before the hit.
  func lookup(
    of found: FoundEntries, _ key: CacheKey, for request: HTTPRequest, _ partition: String
  ) -> Lookup {
    guard !request.hasHostField else { return Lookup(partition: partition) }
    return self.lookup(found, under: key, partition)
  }

  /// - Parameter isWanted: whether a response may answer the request.
  func lookup(
    _ found: FoundEntries, under key: CacheKey, _ partition: String,
    where isWanted: (StoredResponse) -> Bool = { _ in true }
  ) -> Lookup {
    var lookup = Lookup(key: key, partition: partition, variants: found.variants)
    lookup.add(found.entries, under: key, in: store, where: isWanted)
    earlier.convert(&lookup)
    return lookup
  }

  /// Looks up the stored responses for a request, on a thread that may block if the lookup would wait for the disk.
  func lookUp(_ request: HTTPRequest, content: MessageBody, _ partition: String) async -> Lookup {
    if let lookup = lookUp(request, content: content, partition, atOnce: true) { return lookup }
    return await lookUpOnDisk(request, content: content, partition)
  }

  func lookUpOnDisk(_ request: HTTPRequest, content: MessageBody, _ partition: String) async -> Lookup {
    await configuration.traced(.lookup, of: request) { _ in
      await BlockingExecutor.run { [self] in
        lookUp(request, content: content, partition, atOnce: false) ?? Lookup(partition: partition)
      }
    }
  }

  /// - Parameter atOnce: whether to return `nil` if the lookup would wait for the disk.
  func lookUp(
    _ request: HTTPRequest, content: MessageBody, _ partition: String, atOnce: Bool
  ) -> Lookup? {
    let request = keyed(request)
    if request.method.isQuery { return lookUpQuery(request, content: content, partition, atOnce: atOnce) }
    guard content.length == 0 || !request.method.mayHeedContent,
      let key = CacheKey(request, partition: partition)
    else {
      return Lookup(partition: partition)
    }
    guard configuration.rules.usesNoVarySearch, let target = TargetURI(request) else {
      return entries(of: key, for: request, atOnce: atOnce).map { lookup($0, under: key, partition) }
    }
    return lookUp(target, key, for: request, partition, atOnce: atOnce)
  }

  /// Draft "No-Vary-Search", *Caching*: the most recent value for the path's queries leads to the response.
  private func lookUp(
    _ target: TargetURI, _ exact: CacheKey, for request: HTTPRequest, _ partition: String, atOnce: Bool
  ) -> Lookup? {
    guard let anchors = entries(for: .pathAnchor(target, partition: partition), atOnce: atOnce) else {
      return nil
    }
    let anchor = anchors.first.flatMap { Anchor($0.metadata) }
    guard let found = entries(of: exact, for: request, atOnce: atOnce) else { return nil }
    var own = lookup(found, under: exact, partition)
    (own.target, own.anchor) = (target, anchor)
    guard let anchor, let rule = NoVarySearch(parsing: anchor.lines) else { return own }
    let key = CacheKey(target, by: rule, nonce: anchor.nonce, partition: partition)
    guard let found = entries(of: key, for: request, atOnce: atOnce) else { return nil }
    // An updated response with another value is no longer equivalent.
    var common = lookup(found, under: key, partition) { NoVarySearch($0) == rule }
    (common.target, common.anchor) = (target, anchor)
    // A later response to the target itself, without the field, takes precedence (RFC 9111 §4).
    let isOwn =
      own.latest.map { own in common.latest.map { own >= $0 } ?? true } ?? false
    return isOwn ? own : common
  }

  /// Looks up a QUERY request by its content. A request has no key if its content is not in memory or is too long.
  private func lookUpQuery(
    _ request: HTTPRequest, content: MessageBody, _ partition: String, atOnce: Bool
  ) -> Lookup? {
    guard let content = content.bytes, content.count <= configuration.maximumQueryContent,
      let target = TargetURI(request)
    else { return Lookup(partition: partition) }
    let anchorKey = CacheKey.queryAnchor(target, partition: partition)
    guard let anchors = entries(for: anchorKey, atOnce: atOnce) else { return nil }
    let anchor: Anchor
    if let stored = anchors.first.flatMap({ Anchor($0.metadata) }) {
      anchor = stored
    } else {
      if atOnce { return nil }
      anchor = makeQueryAnchor(anchorKey)
    }
    guard
      let key = CacheKey.query(request, content: content, nonce: anchor.nonce, partition: partition)
    else { return Lookup(partition: partition) }
    return entries(of: key, for: request, atOnce: atOnce).map { lookup($0, under: key, partition) }
  }

  /// Stores the anchor before the request is sent, so that an invalidation in the meantime removes it. One anchor is
  /// made at a time, so that the first equal requests get one key, and are coalesced.
  private func makeQueryAnchor(_ key: CacheKey) -> Anchor {
    anchorMaking.withLock { _ in
      if let made = entries(for: key, atOnce: false)?.first.flatMap({ Anchor($0.metadata) }) { return made }
      let anchor = Anchor()
      store.insert(anchor.entry(key, at: clock.wallTime))
      return anchor
    }
  }

  /// Looks up the entries of a key.
  ///
  /// - Parameter atOnce: whether to return `nil` if the lookup would wait for the disk.
  func entries(for key: CacheKey, atOnce: Bool) -> StoredEntries? {
    entries(for: StoreKey(key.bytes), atOnce: atOnce)
  }

  func entries(for key: StoreKey, atOnce: Bool) -> StoredEntries? {
    // Before the lookup.
    let passes = store.markPasses
    var entries = store.lookup(key, atOnce: atOnce)
    entries?.markPasses = passes
    return entries
  }

  // MARK: - Storing

  /// The positions in the removal histories of a request's keys, taken before the request is sent.
  struct RemovalTokens: Sendable {
    var key: RemovalToken?
    /// The position for the target's own key, if that is a different one.
    var target: RemovalToken?
    /// The position in the log of the shared tier; `nil` if the response is not shared.
    var shared: SharedLogPosition?
  }

  /// - Parameter shared: the position in the log of the shared tier.
  func removalTokens(_ lookup: Lookup, shared: SharedLogPosition?) -> RemovalTokens {
    RemovalTokens(
      key: lookup.key.map { store.removalToken(for: StoreKey($0.bytes)) },
      target: lookup.target.map { store.removalToken(for: exactKey($0, lookup.partition)) },
      shared: shared)
  }

  /// Returns the key for the response to a request, and the position after which a removal there prevents the storing;
  /// `nil` if it cannot be stored.
  func place(for stored: StoredResponse, _ lookup: Lookup, tokens: RemovalTokens) -> Place? {
    guard let place = placeOfResource(for: stored, lookup, tokens: tokens) else { return nil }
    let isLookedUp = lookup.key.map { $0.bytes == place.key.bytes } ?? false
    return self.place(for: stored, in: place, known: isLookedUp ? lookup.knownVariants : nil)
  }

  private func placeOfResource(
    for stored: StoredResponse, _ lookup: Lookup, tokens: RemovalTokens
  ) -> Place? {
    guard let key = lookup.key else { return nil }
    guard let target = lookup.target else { return (StoreKey(key.bytes), tokens.key) }
    guard let rule = NoVarySearch(stored) else { return (exactKey(target, lookup.partition), tokens.target) }
    var anchor = lookup.anchor
    if anchor.flatMap({ NoVarySearch(parsing: $0.lines) }) != rule {
      let new = Anchor(lines: NoVarySearch.lines(of: stored))
      store.insert(new.entry(.pathAnchor(target, partition: lookup.partition), at: clock.wallTime))
      anchor = new
    }
    guard let anchor else { return nil }
    let common = StoreKey(
      CacheKey(target, by: rule, nonce: anchor.nonce, partition: lookup.partition).bytes)
    let token = tokens.target.map { store.removalToken(for: common, since: $0) }
    // In this order no removal is missed. A removal that advances the target's counter from here on reads the anchor
    // afterwards, finds this one, and removes the common key too.
    if let before = tokens.target, store.mayBeRemoved(exactKey(target, lookup.partition), since: before) {
      return nil
    }
    return (common, token)
  }

  /// Whether a key, or one of some scopes, may have been removed or invalidated since a token was taken.
  func isRemoved(_ key: CacheKey?, _ scopes: [StoreScope], since token: RemovalToken?) -> Bool {
    guard let key, let token else { return false }
    return store.mayBeRemoved(StoreKey(key.bytes), in: scopes, since: token)
  }

  /// Why a response has no place, although its request has a key.
  var reasonWithoutPlace: CacheEngine.Reason { store.isOpen ? .removedMeanwhile : .storeClosed }

  // MARK: - Removing

  /// Removes all stored responses for a target that stands for its equivalents, however they are found.
  ///
  /// - Parameter keepingPins: whether the responses that follow are pinned if these are.
  /// - Returns: the number of responses, not counting those to QUERY.
  @discardableResult
  func removeAll(keyed target: TargetURI, partition: String, keepingPins: Bool) -> Int {
    let exact = exactKey(target, partition)
    let count = removeVariants(under: exact, keepingPin: keepingPins)
    store.remove(StoreKey(CacheKey.annotationKey(of: exact.bytes)))
    store.remove(StoreKey(CacheKey.queryAnchor(target, partition: partition).bytes))
    return count
      + (commonKey(of: target, partition: partition).map {
        removeVariants(under: $0, keepingPin: keepingPins)
      } ?? 0)
  }

  /// The key that a target shares with others by the `No-Vary-Search` of their path.
  func commonKey(of target: TargetURI, partition: String) -> StoreKey? {
    guard configuration.rules.usesNoVarySearch,
      let entries = entries(for: .pathAnchor(target, partition: partition), atOnce: false),
      let anchor = entries.first.flatMap({ Anchor($0.metadata) }),
      let rule = NoVarySearch(parsing: anchor.lines)
    else { return nil }
    return StoreKey(CacheKey(target, by: rule, nonce: anchor.nonce, partition: partition).bytes)
  }

  func exactKey(_ target: TargetURI, _ partition: String) -> StoreKey {
    StoreKey(CacheKey(target, partition: partition).bytes)
  }
}

extension NoVarySearch {
  init?(_ stored: StoredResponse) {
    self.init(parsing: Self.lines(of: stored))
  }

  static func lines(of stored: StoredResponse) -> [String] {
    HTTPField.Name("No-Vary-Search").map { stored.values(of: $0) } ?? []
  }
}

extension HTTPRequest.Method {
  /// Whether the content of a request with this method may change the response, so that a stored one may be wrong. With
  /// QUERY the content is part of the key.
  ///
  /// With GET and HEAD it has no meaning (RFC 9110 §9.3.1), but some origins evaluate it. Their response to one client
  /// would then be served to all, and no client could notice.
  package var mayHeedContent: Bool { self == .get || self == .head || isQuery }
}

extension HTTPRequest {
  /// Why the request has no key, although its target has one.
  var reasonWithoutKey: CacheEngine.Reason { method.isQuery ? .queryNotKeyed : .requestContent }
}
