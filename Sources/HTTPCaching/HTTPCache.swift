// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
// One import is enough: the cache's interface has types of the engine (Reason, RequestCachePolicy), of the store's
// configuration and of HTTPTypes.
@_exported import HTTPCacheEngine
import HTTPCacheStore
@_exported import HTTPTypes
import SystemPackage

@_exported import class HTTPCacheStore.CacheStore
@_exported import struct SystemPackage.FilePath

/// An HTTP cache: the rules of RFC 9111, a store in memory and on disk, and any transport.
///
/// ```swift
/// let cache = try HTTPCache(.init(kind: .private, memoryCapacity: 64 << 20))
/// let response = try await cache.respond(to: request) { request, body in
///   try await send(request, body)    // whatever brings a response from the origin
/// }
/// print(response.source, response.reason)    // hit: The stored response is fresh. (RFC 9111 §4.2)
/// ```
///
/// - A hit in memory is answered in the caller's own task, without a suspension; on Linux, a hit on disk is, too, if the
///   system's page cache has it. See also ``storedResponse(for:policy:partition:)``.
/// - Concurrent requests for the same response are coalesced into one request to the origin. It runs in a task of its
///   own: cancelling one caller never cancels the request of another.
/// - The content goes to the caller while it arrives, and into the store at the same time. It becomes visible to other
///   requests when it is complete. If a transfer fails or is cancelled, the store keeps the bytes received so far,
///   provided the origin sent a strong validator and a length. They answer range requests, and the next request fetches
///   only the rest.
/// - An invalidation also covers responses in flight: they are not stored.
///
/// All members may be used from any thread or task.
public final class HTTPCache: Sendable {
  /// The configuration of a cache.
  public struct Configuration: Sendable {
    /// The choices that RFC 9111 leaves to a cache, first of all whether it is private or shared.
    public var rules: CacheEngine.Configuration
    /// The capacities, the directory and the policies of the store. A cache over a store that is already open has that
    /// store's.
    public var store: CacheStore.Configuration
    /// The name that `Cache-Status` gives this cache (RFC 9211 §2): a product, a host, or any text.
    public var name: String
    /// Whether `Cache-Status` contains the key of the response, too (default: `false`). The key shows the
    /// ``partition``, and its other parts help attackers to poison a cache (RFC 9211 §6). Keys of more than
    /// 1024 bytes are omitted.
    public var showsKeys: Bool
    /// The partition of requests that do not set one. It separates the responses of one account or site from those of
    /// another in the same store. See ``HTTPCache/Selection/partition(_:)``.
    public var partition: String
    /// What an operator decides by host and path, in the place of the origins (default: nothing).
    public var cacheRules = CacheRules()
    /// Which target URIs are equivalent; `nil` if each URI is distinct.
    public var targetRule: TargetRule?
    /// Maximum bytes of content of a QUERY request whose response may be stored: the content becomes part of the key.
    /// Responses to content of unknown length are not stored.
    public var maximumQueryContent: Int
    /// Maximum number of stored variants of one resource: responses that its `Vary` distinguishes (default: 1,000). The
    /// one that was used least recently gives way to a further one. At least 1.
    ///
    /// The capacities bound the bytes of all responses. Of a pinned target, 60 variants are pinned.
    public var maximumVariants: Int
    /// Maximum bytes in memory of content in flight: content that is neither stored yet nor delivered (default:
    /// 64 MiB).
    ///
    /// One half is for content that will be stored, and one for content that only passes through: clients that read
    /// slowly fill only the latter. At its limit, the cache reads an origin no faster than its clients read the content.
    /// At the limit of the former, a response of more than 64 KiB is delivered without being stored. See <doc:MemoryUse>.
    public var transitCapacity: Int
    /// Maximum time that a request waits for the response to another, equal one (default: 5 seconds). It then sends its
    /// own to the origin.
    public var followerTimeout: Duration
    /// See ``observe(_:_:)``.
    package var observers: [(actions: [CacheEvent.Action], observer: @Sendable (CacheEvent) -> Void)] = []
    /// A tier that other caches, normally on other machines, share with this one (default: `nil`).
    ///
    /// A private cache shares only its removals: its responses may belong to one user.
    public var sharedTier: SharedTierOptions?
    /// Records the steps of each request; set by `HTTPCacheObserving`.
    package var tracer: (any CacheTracer)?

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - kind: whether the cache is private or shared.
    ///   - memoryCapacity: maximum bytes that stored responses may occupy in memory.
    ///   - diskCapacity: maximum bytes that they may occupy on disk; used only with a directory.
    ///   - directory: the directory for stored responses, created if it does not exist; `nil` keeps them in memory only.
    public init(
      kind: CacheEngine.Configuration.Kind = .private, memoryCapacity: Int = 64 << 20,
      diskCapacity: Int = 256 << 20, directory: FilePath? = nil
    ) {
      rules = .init(kind: kind)
      store = .init(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, directory: directory)
      name = "HTTPCacheEngine"
      showsKeys = false
      partition = ""
      maximumQueryContent = 64 << 10
      maximumVariants = 1000
      transitCapacity = 64 << 20
      followerTimeout = .seconds(5)
    }
  }

  package let store: CacheStore
  let engine: CacheEngine
  /// Judges what handlers of this process respond; see ``LocalOrigin``.
  let localEngine: CacheEngine
  let currentRules: CurrentRules
  let configuration: Configuration
  let clock: any CacheClock
  /// Finds the stored responses of requests, and the places of new ones.
  let responses: ResponseStore
  let answers: Answers
  package let fetches: FetchTable
  let hub: EventHub
  /// The shared tier; `nil` without one.
  let shared: SharedTierLink?
  let removalPeers = RemovalPeers()
  /// The bytes that content in flight occupies, here and in an adapter.
  package let transit: TransitBudget

  /// Opens a cache with its own store.
  ///
  /// - Parameters:
  ///   - configuration: the configuration.
  ///   - clock: the clock of ages and timers (default: the system's); tests pass their own.
  /// - Throws: `StoreError` if the directory is unusable, holds something else than a cache, or is used by another
  ///   process.
  public convenience init(
    _ configuration: Configuration = Configuration(), clock: any CacheClock = SystemCacheClock.shared
  ) throws {
    self.init(store: try CacheStore(configuration.store), configuration: configuration, clock: clock)
  }

  /// Opens a cache over a store that is already open, with a different clock if required. Several caches may share a
  /// store; see ``Configuration/partition``.
  public convenience init(
    store: CacheStore, configuration: Configuration, clock: any CacheClock = SystemCacheClock.shared
  ) {
    self.init(unstarted: configuration, store: store, clock: clock)
    shared?.start()
  }

  /// Opens a cache that takes no step in its shared tier by itself: tests take them by hand.
  init(unstarted configuration: Configuration, store: CacheStore, clock: any CacheClock) {
    self.store = store
    var configuration = configuration
    configuration.store = store.configuration
    self.configuration = configuration
    self.clock = clock
    hub = EventHub(clock)
    engine = CacheEngine(configuration.rules)
    localEngine = engine.local
    currentRules = CurrentRules(RuleTable(configuration.cacheRules, configuration.rules))
    responses = ResponseStore(store, engine, configuration, currentRules, clock: clock)
    answers = Answers(responses: responses, hub: hub)
    fetches = FetchTable(
      clock: clock, patience: configuration.followerTimeout, isShared: configuration.rules.kind == .shared)
    transit = TransitBudget(capacity: configuration.transitCapacity, clock: clock)
    shared = configuration.sharedTier.map { [hub] in
      SharedTierLink(
        $0, store: store, clock: clock, hub: hub, sharesResponses: configuration.rules.kind == .shared)
    }
    for (actions, observer) in configuration.observers { observe(actions, observer) }
    if let error = store.unavailable { hub.note(.diskUnavailable, error) }
    if let error = store.discarded { hub.note(.diskDiscarded, error) }
    store.observeDisk(hub)
    shared?.cache.withLock { $0 = { [weak self] in self } }
  }

  deinit {
    shared?.stop()
  }

  // MARK: - Capacity

  /// The maximum bytes that stored responses may occupy in memory and on disk.
  public var capacity: StoreCapacity { store.capacity }

  /// The bytes and the number of entries in memory and on disk.
  public var usage: StoreUsage { store.usage }

  /// What the store has counted since it was opened.
  public var statistics: StoreStatistics { store.statistics }

  /// Changes the capacities, and evicts the excess at once. May block on the disk.
  ///
  /// - Parameters:
  ///   - memory: maximum bytes in memory; `nil` leaves it as it is.
  ///   - disk: maximum bytes on disk, at least 1 MiB; 0 removes everything from the disk, with all pins, and `nil` leaves
  ///     it as it is. It has no effect without a directory.
  public func setCapacity(memory: Int? = nil, disk: Int? = nil) {
    store.setCapacity(memory: memory, disk: disk)
  }

  /// Removes all responses from memory, and leaves the disk as it is. It does not wait for the disk.
  ///
  /// Call it when the system is short of memory. Responses that are also on disk are hits again. Responses that only
  /// memory holds are gone. Requests in flight continue, and their responses are stored.
  ///
  /// - Complexity: O(responses in memory).
  public func clearMemory() {
    store.clearMemory()
  }

  // MARK: - Closing

  /// Writes everything stored so far to the disk itself; may block until that is done.
  public func flush() {
    store.flush()
  }

  /// Closes the store and releases its directory. From then on every request goes to the origin, and nothing is stored.
  ///
  /// Without this call little is lost: a response is written to the disk as soon as it is complete. But after it, the
  /// next opening is faster.
  public func close() {
    shared?.stop()
    store.close()
  }

  // MARK: - What it is

  /// The version of this package; `httpcache --version` and the metric `httpcache_build_info` show it.
  public static let version = "0.1.0"

  /// See ``Configuration/maximumQueryContent``.
  package var maximumQueryContent: Int { configuration.maximumQueryContent }

  /// Whether the cache serves many users.
  package var isShared: Bool { configuration.rules.kind == .shared }
}
