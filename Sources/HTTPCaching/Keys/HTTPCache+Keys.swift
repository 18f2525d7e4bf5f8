// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import Synchronization

/// What is stored for a request.
struct Lookup: Sendable {
  /// What it is stored under; `nil` if the request has no key.
  var key: CacheKey?
  /// The partition that the request belongs to.
  var partition: String
  var candidates = Candidates()
  /// The target, where a response's `No-Vary-Search` may give it another key.
  var target: TargetURI?
  /// What all equivalents of the target have in common, by the `No-Vary-Search` of their path.
  var anchor: Anchor?
}

extension HTTPCache {
  // MARK: - Equivalent targets

  /// The target that counts for a target.
  func keyed(_ target: TargetURI) -> TargetURI { configuration.targetRule?(target) ?? target }

  /// A request with the target that counts for its own.
  private func keyed(_ request: HTTPRequest) -> HTTPRequest {
    guard let rule = configuration.targetRule, let target = TargetURI(request).map({ rule($0) }) else {
      return request
    }
    var keyed = request
    keyed.scheme = target.scheme
    keyed.authority = target.authority
    keyed.path = target.path
    return keyed
  }

  // MARK: - Finding

  /// What memory has for a request, as it lies there.
  enum Resident {
    /// All that is stored under the request's key.
    case entries(CacheKey, StoredEntries)
    /// Memory does not hold everything.
    case perhapsOnDisk
    /// It is not to be found by its target URI alone, or not to be looked for.
    case otherwise
  }

  func resident(
    for request: HTTPRequest, content: MessageBody = .empty, _ partition: String
  ) -> Resident {
    let request = keyed(request)
    guard content.length == 0, !configuration.rules.usesNoVarySearch, !request.method.isQuery,
      let key = CacheKey(request, partition: partition)
    else { return .otherwise }
    return entries(for: key, inMemory: true).map { .entries(key, $0) } ?? .perhapsOnDisk
  }

  /// What is stored for a request: memory at once, the disk only where memory does not hold everything.
  func lookUp(_ request: HTTPRequest, content: MessageBody, _ partition: String) async -> Lookup {
    if let lookup = lookUp(request, content: content, partition, inMemory: true) { return lookup }
    return await lookUpOnDisk(request, content: content, partition)
  }

  func lookUpOnDisk(_ request: HTTPRequest, content: MessageBody, _ partition: String) async -> Lookup {
    await BlockingExecutor.run { [self] in
      lookUp(request, content: content, partition, inMemory: false) ?? Lookup(partition: partition)
    }
  }

  /// - Parameter inMemory: whether to ask memory alone, and answer `nil` where that does not know everything.
  func lookUp(
    _ request: HTTPRequest, content: MessageBody, _ partition: String, inMemory: Bool
  ) -> Lookup? {
    let request = keyed(request)
    if request.method.isQuery { return lookUpQuery(request, content: content, partition, inMemory: inMemory) }
    guard content.length == 0 || !request.method.mayHeedContent,
      let key = CacheKey(request, partition: partition)
    else {
      return Lookup(partition: partition)
    }
    guard configuration.rules.usesNoVarySearch, let target = TargetURI(request) else {
      return entries(for: key, inMemory: inMemory).map {
        Lookup(key: key, partition: partition, candidates: Candidates($0, under: key, in: store))
      }
    }
    return lookUp(target, key, partition, inMemory: inMemory)
  }

  /// Draft "No-Vary-Search", *Caching*: what has most recently been said of the path's queries leads to the response.
  private func lookUp(
    _ target: TargetURI, _ exact: CacheKey, _ partition: String, inMemory: Bool
  ) -> Lookup? {
    guard let anchors = entries(for: .pathAnchor(target, partition: partition), inMemory: inMemory) else {
      return nil
    }
    let anchor = anchors.first.flatMap { Anchor($0.metadata) }
    guard let entries = entries(for: exact, inMemory: inMemory) else { return nil }
    let own = Candidates(entries, under: exact, in: store)
    guard let anchor, let rule = NoVarySearch(parsing: anchor.lines) else {
      return Lookup(key: exact, partition: partition, candidates: own, target: target, anchor: anchor)
    }
    let key = CacheKey(target, by: rule, nonce: anchor.nonce, partition: partition)
    guard let entries = self.entries(for: key, inMemory: inMemory) else { return nil }
    // What has been updated and says otherwise now is equivalent no more.
    let common = Candidates(entries, under: key, in: store) { NoVarySearch($0) == rule }
    // What the target itself was answered with later, without the field, goes before (RFC 9111 §4).
    let isOwn = own.latest.map { own in common.latest.map { own >= $0 } ?? true } ?? false
    return Lookup(
      key: isOwn ? exact : key, partition: partition, candidates: isOwn ? own : common, target: target,
      anchor: anchor)
  }

  /// A QUERY request is found by its content; without a key, one whose content is not at hand or is too long.
  private func lookUpQuery(
    _ request: HTTPRequest, content: MessageBody, _ partition: String, inMemory: Bool
  ) -> Lookup? {
    guard let content = content.bytes, content.count <= configuration.maximumQueryContent,
      let target = TargetURI(request)
    else { return Lookup(partition: partition) }
    let anchorKey = CacheKey.queryAnchor(target, partition: partition)
    guard let anchors = entries(for: anchorKey, inMemory: inMemory) else { return nil }
    let anchor: Anchor
    if let stored = anchors.first.flatMap({ Anchor($0.metadata) }) {
      anchor = stored
    } else {
      if inMemory { return nil }
      anchor = makeQueryAnchor(anchorKey)
    }
    guard
      let key = CacheKey.query(request, content: content, nonce: anchor.nonce, partition: partition)
    else { return Lookup(partition: partition) }
    return entries(for: key, inMemory: inMemory).map {
      Lookup(key: key, partition: partition, candidates: Candidates($0, under: key, in: store))
    }
  }

  /// Stored before the request goes out, so that an invalidation while it is under way removes it; one at a time, so that
  /// the first who ask the same have one key, and make one request.
  private func makeQueryAnchor(_ key: CacheKey) -> Anchor {
    anchorMaking.withLock { _ in
      if let made = entries(for: key, inMemory: false)?.first.flatMap({ Anchor($0.metadata) }) { return made }
      let anchor = Anchor()
      store.insert(anchor.entry(key, at: clock.now))
      return anchor
    }
  }

  private func entries(for key: CacheKey, inMemory: Bool) -> StoredEntries? {
    let key = StoreKey(key.bytes)
    guard inMemory else { return store.lookup(key) }
    let resident = store.residentEntries(for: key)
    return resident.isComplete ? resident.entries : nil
  }

  // MARK: - Storing

  /// The moments in the histories of a request's keys, taken before the request goes out.
  struct RemovalTokens: Sendable {
    var key: RemovalToken?
    /// Of the target's own key, where that is another.
    var target: RemovalToken?
  }

  func removalTokens(_ lookup: Lookup) -> RemovalTokens {
    RemovalTokens(
      key: lookup.key.map { store.removalToken(for: StoreKey($0.bytes)) },
      target: lookup.target.map { store.removalToken(for: exactKey($0, lookup.partition)) })
  }

  /// Where a response to a request is to be stored, and since when nothing may have been removed there; `nil` if
  /// nowhere.
  func place(
    for stored: StoredResponse, _ lookup: Lookup, tokens: RemovalTokens
  ) -> (key: StoreKey, token: RemovalToken?)? {
    guard let key = lookup.key else { return nil }
    guard let target = lookup.target else { return (StoreKey(key.bytes), tokens.key) }
    guard let rule = NoVarySearch(stored) else { return (exactKey(target, lookup.partition), tokens.target) }
    var anchor = lookup.anchor
    if anchor.flatMap({ NoVarySearch(parsing: $0.lines) }) != rule {
      let new = Anchor(lines: NoVarySearch.lines(of: stored))
      store.insert(new.entry(.pathAnchor(target, partition: lookup.partition), at: clock.now))
      anchor = new
    }
    guard let anchor else { return nil }
    let common = StoreKey(
      CacheKey(target, by: rule, nonce: anchor.nonce, partition: lookup.partition).bytes)
    let token = store.removalToken(for: common)
    // In this order no removal is missed: one that advances the target's counter from here on reads the anchor after
    // that, finds this one, and removes the common key too.
    if let before = tokens.target, store.mayBeRemoved(exactKey(target, lookup.partition), since: before) {
      return nil
    }
    return (common, token)
  }

  // MARK: - Removing

  /// Removes everything that is stored for a target, however it is found.
  ///
  /// - Returns: the number of responses, but for those to QUERY.
  @discardableResult
  func removeAll(for target: TargetURI, partition: String) -> Int {
    let target = keyed(target)
    let exact = exactKey(target, partition)
    let count = store.remove(exact)
    store.remove(StoreKey(CacheKey.annotationKey(of: exact.bytes)))
    store.remove(StoreKey(CacheKey.queryAnchor(target, partition: partition).bytes))
    return count + (commonKey(of: target, partition: partition).map { store.remove($0) } ?? 0)
  }

  /// The key that a target has in common with others by the `No-Vary-Search` of their path.
  func commonKey(of target: TargetURI, partition: String) -> StoreKey? {
    guard configuration.rules.usesNoVarySearch,
      let entries = entries(for: .pathAnchor(target, partition: partition), inMemory: false),
      let anchor = entries.first.flatMap({ Anchor($0.metadata) }),
      let rule = NoVarySearch(parsing: anchor.lines)
    else { return nil }
    return StoreKey(CacheKey(target, by: rule, nonce: anchor.nonce, partition: partition).bytes)
  }

  private func exactKey(_ target: TargetURI, _ partition: String) -> StoreKey {
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
  /// Whether what is stored under a target URI may be another answer than content would get: with QUERY it is part of the key.
  ///
  /// With GET and HEAD it means nothing (RFC 9110 §9.3.1), and yet there are origins that heed it. Their answer to one
  /// client's would be everybody's, who could not tell.
  package var mayHeedContent: Bool { self == .get || self == .head || isQuery }
}

extension HTTPRequest {
  /// Why it has no key, though its target has one.
  var reasonWithoutKey: CacheEngine.Reason { method.isQuery ? .queryNotKeyed : .requestContent }
}
