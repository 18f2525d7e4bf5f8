// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import Synchronization
import SystemPackage

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
/// - A hit in memory is answered in the caller's own task, without a suspension; see also ``storedResponse(for:policy:partition:)``.
/// - Concurrent requests for the same thing make one request to the origin. It runs in a task of its own: cancelling
///   one of those who wait never cancels another's.
/// - The content goes to the caller while it arrives, and into the store at the same time. It becomes visible to
///   others when it is whole. What came of a transfer that fails or is cancelled is kept where the origin named a
///   strong validator and a length: it answers ranges, and the next request asks for the rest only.
/// - What is invalidated while a response is on its way stays invalid: that response is not stored.
///
/// All members may be used from any thread or task.
public final class HTTPCache: Sendable {
  /// Everything that can be set about a cache.
  public struct Configuration: Sendable {
    /// The choices that RFC 9111 leaves to a cache, first of all whether it is private or shared.
    public var rules: CacheEngine.Configuration
    /// The most bytes that stored responses may occupy in memory.
    public var memoryCapacity: Int
    /// The most bytes that they may occupy on disk; counts only with a ``directory``.
    public var diskCapacity: Int
    /// The directory for stored responses, made if it does not exist; `nil` keeps them in memory only. They lie there
    /// in clear, readable for the user who runs the process. A directory that holds other files, and no cache, is refused.
    public var directory: FilePath?
    /// What to do with a ``directory`` whose cache cannot be read: damaged, or of a later version (default: `fail`).
    public var whenUnreadable: UnreadableDirectory
    /// Which response goes first when memory is full.
    public var eviction: EvictionPolicy
    /// Which responses are written to disk; counts only with a ``directory``.
    public var diskAdmission: DiskAdmission
    /// When what is written to disk is to survive a loss of power; counts only with a ``directory``.
    public var sync: DiskSync
    /// Called when the disk fails, and when it works again (default: `nil`). Called on a queue of its own, soon after it
    /// happened, one event after the other. It may use the cache.
    public var diskObserver: (@Sendable (DiskEvent) -> Void)?
    /// The name that `Cache-Status` gives this cache (RFC 9211 §2): a product, a host, or any text.
    public var name: String
    /// Whether `Cache-Status` tells the key of the response, too. Off unless set: it shows the ``partition``, and what
    /// else is part of the key helps those who want to poison a cache (RFC 9211 §6). Keys of more than 1024 bytes are left
    /// out.
    public var showsKeys: Bool
    /// Keeps the responses of one account or site apart from another's in the same store: the partition of requests that
    /// are given none of their own. See ``HTTPCache/removePartition(_:)``.
    public var partition: String
    /// Which target URIs count as one; `nil` if each is its own.
    public var targetRule: TargetRule?
    /// The largest share of the disk's capacity that one response may take, from 0 to 1; `nil` leaves it to the capacity.
    /// Counts only with a ``directory``.
    public var maximumEntryShare: Double?
    /// The longest content of a QUERY request, in bytes, whose response may be stored: it becomes part of the key. A
    /// content of unknown length is not kept.
    public var maximumQueryContent: Int
    /// Maximum bytes in memory of content in flight: content that is neither stored yet nor delivered (default: 64 MiB).
    ///
    /// At the limit, the cache reads an origin no faster than its clients take the content, and a response that would have
    /// to wait in memory until it is whole is delivered without being stored. Each response may hold one block, up to
    /// 64 KiB, in any case.
    public var transitCapacity: Int
    /// Called for everything the cache does, from the first request on, on whatever thread it is done; it must not block.
    /// See also ``HTTPCache/observe(_:_:)`` and ``HTTPCache/events(of:keeping:)``.
    public var observer: (@Sendable (CacheEvent) -> Void)?

    /// A configuration. Each parameter is documented at the property of its name.
    public init(
      kind: CacheEngine.Configuration.Kind = .private, memoryCapacity: Int = 64 << 20,
      diskCapacity: Int = 256 << 20, directory: FilePath? = nil
    ) {
      rules = .init(kind: kind)
      self.memoryCapacity = memoryCapacity
      self.diskCapacity = diskCapacity
      self.directory = directory
      whenUnreadable = .fail
      eviction = .lru
      diskAdmission = .everything
      sync = .removals
      name = "HTTPCacheEngine"
      showsKeys = false
      partition = ""
      maximumQueryContent = 64 << 10
      transitCapacity = 64 << 20
    }
  }

  /// Where the responses are. Several caches may share a store; see ``Configuration/partition``.
  public let store: CacheStore
  let engine: CacheEngine
  let configuration: Configuration
  let clock: any CacheClock
  let flights = FlightTable()
  let hub = EventHub()
  /// What content in flight occupies, here and in an adapter.
  package let transit: TransitBudget
  /// Held while the anchor of a QUERY target is made.
  let anchorMaking = Mutex<Void>(())
  /// Separates the parts of multipart responses; nobody outside can know it.
  let boundary: String

  /// Opens a cache with a store of its own.
  ///
  /// - Throws: `StoreError` if the directory cannot be used, holds something else than a cache, or another process uses it.
  public convenience init(_ configuration: Configuration = Configuration()) throws {
    var options = CacheStore.Configuration(
      memoryCapacity: configuration.memoryCapacity,
      diskCapacity: configuration.directory == nil ? 0 : configuration.diskCapacity,
      directory: configuration.directory)
    options.whenUnreadable = configuration.whenUnreadable
    options.eviction = configuration.eviction
    options.diskAdmission = configuration.diskAdmission
    options.sync = configuration.sync
    options.diskObserver = configuration.diskObserver
    options.maximumEntryShare = configuration.maximumEntryShare
    self.init(store: try CacheStore(options), configuration: configuration)
  }

  /// Opens a cache over a store that is open already, with a clock of one's own if need be.
  public init(
    store: CacheStore, configuration: Configuration, clock: any CacheClock = SystemCacheClock.shared
  ) {
    self.store = store
    self.configuration = configuration
    self.clock = clock
    transit = TransitBudget(capacity: configuration.transitCapacity)
    engine = CacheEngine(configuration.rules)
    boundary = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    if let observer = configuration.observer { observe(CacheEvent.Action.allCases, observer) }
  }

  // MARK: - Removing

  /// Removes everything that is stored in a partition, as when its user signs out; what is on its way for it is not stored
  /// either. It is never served again when the call returns, not after a crash either.
  ///
  /// Its bytes stay until their room is needed, as do those of anything that was removed: for partitions whose bytes must
  /// go, give each a directory of its own, and call ``removeAllResponses()``.
  ///
  /// - Complexity: O(1), however much is stored.
  public func removePartition(_ partition: String) {
    precondition(!partition.isEmpty, "requests without a partition are in none: use removeAllResponses()")
    store.mark([StoreScope(CacheKey.scope(ofPartition: partition))])
  }

  /// Removes what was stored or last validated at this time or later.
  public func removeResponses(since time: Timestamp) {
    store.removeAll(since: time.milliseconds)
  }

  // MARK: - Closing

  /// Brings everything stored so far to the disk itself; may wait for it.
  public func flush() {
    store.flush()
  }

  /// Closes the store and frees its directory. From now on every request goes to the origin, and nothing is stored.
  ///
  /// Little is lost without it: what is stored is on its way to the disk as soon as it is whole. But the next opening is
  /// quicker.
  public func close() {
    store.close()
  }

  // MARK: - Helpers of the two doors

  /// Waits until no request is under way: for those who let time pass by hand.
  package func settle() async {
    while flights.count > 0 { await Task.yield() }
  }
}
