// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An `HTTPCache` with the methods of Foundation's `URLCache`: to migrate from that, change the type name.
///
/// ```swift
/// let cache = HTTPURLCache(memoryCapacity: 16 << 20, diskCapacity: 256 << 20, directory: folder)
/// let session = URLSession(configuration: .caching(with: cache))
/// cache.cachedResponse(for: request)    // what the session has stored, and the other way round
/// ```
///
/// RFC 9111 decides what may be stored and which response belongs to a request. Query strings count, `Vary` is
/// respected, and a response with `no-store` is refused. ``cachedResponse(for:)`` returns a stored response whatever
/// its age; only a session checks whether it is fresh.
///
/// All members may be used from any thread. Those that read or write responses may block on the disk.
public final class HTTPURLCache: Sendable {
  /// The underlying cache.
  public let cache: HTTPCache
  /// What was wrong with the directory when the cache was opened; `nil` if nothing was, or no disk was requested.
  ///
  /// The cache either works in memory only, and ``diskCapacity`` is 0. Or the directory was unreadable, and the cache has
  /// discarded what it had stored there.
  public let diskError: (any Error)?

  /// Clears the memory when the system is short of it, as long as this object exists.
  private let memoryWatch: (any Sendable)?

  private static let common = Mutex<HTTPURLCache?>(nil)

  /// The default for the largest share of the disk's capacity that one response may take, as in `URLCache`.
  package static let defaultMaximumEntryShare = 0.05

  /// The cache of the whole process (default: 4 MiB of memory and 20 MiB of disk, in the folder that
  /// ``init(memoryCapacity:diskCapacity:directory:whenUnreadable:)`` uses without a directory).
  public static var shared: HTTPURLCache {
    get {
      common.withLock { common in
        if let common { return common }
        let made = HTTPURLCache(memoryCapacity: 4 << 20, diskCapacity: 20 << 20)
        common = made
        return made
      }
    }
    set { common.withLock { $0 = newValue } }
  }

  // MARK: - Opening

  /// Opens a cache.
  ///
  /// If the directory is unusable, the cache works in memory only. If what a cache stored there is unreadable, the cache
  /// begins empty. In both cases ``diskError`` says why.
  ///
  /// With a disk, a session keeps responses of more than 256 KiB only there; to change that, set
  /// `largeBodyThreshold` of `HTTPCache.Configuration.store` and use ``init(_:)-(HTTPCache.Configuration)``.
  ///
  /// - Parameters:
  ///   - memoryCapacity: maximum bytes in memory.
  ///   - diskCapacity: maximum bytes on disk, at least 1 MiB; 0 disables the disk for good.
  ///   - directory: the directory for responses, unencrypted, for this cache only. `nil` for the folder `HTTPURLCache` in
  ///     a folder with the name of the process, where the platform keeps caches: the Caches directory on Apple platforms,
  ///     and elsewhere `$XDG_CACHE_HOME`, or `~/.cache` if that is not an absolute path. Missing folders are made for the
  ///     user alone (mode 0700). On iOS, a directory in the container of an App Group ends the app when it is suspended; see
  ///     <doc:FirstRunOnApplePlatforms>.
  ///   - whenUnreadable: what to do with a directory whose cache is unreadable: damaged, or written by another version.
  public convenience init(
    memoryCapacity: Int, diskCapacity: Int, directory: URL? = nil,
    whenUnreadable: UnreadableDirectory = .startEmpty
  ) {
    var configuration = HTTPCache.Configuration(
      memoryCapacity: max(0, memoryCapacity), diskCapacity: max(1 << 20, diskCapacity))
    configuration.store.maximumEntryShare = Self.defaultMaximumEntryShare
    configuration.store.whenUnreadable = whenUnreadable
    if diskCapacity > 0 {
      let directory = directory ?? CachesFolder.folder(named: nil)
      CachesFolder.makeParents(of: directory)
      configuration.store.directory = FilePath(directory.path)
    }
    self.init(configuration)
  }

  /// Opens a cache.
  ///
  /// - Parameters:
  ///   - memoryCapacity: maximum bytes in memory.
  ///   - diskCapacity: maximum bytes on disk, at least 1 MiB; 0 disables the disk.
  ///   - path: the directory. A path that does not begin with a slash is relative to the folder of the process where the
  ///     platform keeps caches, as with `URLCache`. `nil` and an empty path are the same as no directory in
  ///     ``init(memoryCapacity:diskCapacity:directory:whenUnreadable:)``.
  public convenience init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
    self.init(
      memoryCapacity: memoryCapacity, diskCapacity: diskCapacity,
      directory: path.map { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : CachesFolder.folder(named: $0) })
  }

  /// Opens a cache with any configuration, for example for the use of stale responses when the origin is unreachable.
  /// It does not fail; see ``diskError``.
  ///
  /// If what a cache stored in the directory is unreadable, the cache begins empty, unless the store's
  /// `whenUnreadable` is `fail`. With `fail`, the directory stays as it is, and the cache works in memory only.
  public convenience init(_ configuration: HTTPCache.Configuration) {
    var configuration = configuration
    configuration.store.whenUnreadable = configuration.store.whenUnreadable ?? .startEmpty
    do {
      self.init(try HTTPCache(configuration))
    } catch {
      // A store in memory cannot fail to open.
      let store = CacheStore.inMemory(capacity: configuration.store.memoryCapacity, insteadOfDisk: error)
      self.init(HTTPCache(store: store, configuration: configuration), diskError: error)
    }
  }

  /// Wraps a cache that is already open.
  public init(_ cache: HTTPCache) {
    self.cache = cache
    diskError = cache.store.discarded
    memoryWatch = Platform.watchMemory(of: cache)
  }

  private init(_ cache: HTTPCache, diskError: any Error) {
    self.cache = cache
    self.diskError = diskError
    memoryWatch = Platform.watchMemory(of: cache)
  }

  // MARK: - Size

  /// Maximum bytes that responses may occupy in memory. If you lower it, the excess is evicted at once.
  public var memoryCapacity: Int {
    get { cache.capacity.memory }
    set { cache.setCapacity(memory: newValue) }
  }

  /// Maximum bytes that responses may occupy on disk, at least 1 MiB, or 0. If you lower it, the excess is evicted at
  /// once.
  public var diskCapacity: Int {
    get { cache.capacity.disk }
    set { cache.setCapacity(disk: newValue) }
  }

  /// The bytes that responses occupy in memory.
  public var currentMemoryUsage: Int { cache.usage.memoryBytes }

  /// The bytes that all files of the cache occupy.
  public var currentDiskUsage: Int { cache.usage.diskBytes }

  /// Removes all responses from memory, and leaves the disk as it is. Responses that are also on disk are hits again.
  ///
  /// On Apple platforms, the cache does so by itself when the system is short of memory (a memory pressure source of
  /// Dispatch). An `HTTPCache` without this class does not: call its `clearMemory()`.
  public func clearMemory() {
    cache.clearMemory()
  }

  // MARK: - Responses

  /// Returns the stored response for a request, whatever its age, with the current `Age`; `nil` if there is none.
  ///
  /// The cache does not know the session's own fields, such as `httpAdditionalHeaders` and cookies. If a response
  /// varies on them, the request must contain them.
  public func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    guard let head = HTTPRequest(request), let url = request.url, !Self.isUnread(request, head),
      let copy = cache.storedCopy(for: head, requestContent: Self.content(request)),
      let response = HTTPURLResponse(copy.head, url: url)
    else { return nil }
    let note = copy.annotation.flatMap { CacheNote(decoding: $0) }
    let userInfo = note?.userInfo ?? [:]
    return CachedURLResponse(
      response: response, data: Data(copy.content), userInfo: userInfo.isEmpty ? nil : userInfo,
      storagePolicy: note?.isInMemoryOnly == true ? .allowedInMemoryOnly : .allowed)
  }

  /// Stores a response in place of the stored response for the request, if the rules allow it.
  ///
  /// The parts of its `userInfo` that are property lists are kept as long as the response, also on disk, and
  /// unencrypted.
  ///
  /// - Returns: why it is stored, or why not.
  @discardableResult
  public func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest)
    -> CacheEngine.Reason
  {
    guard let head = HTTPRequest(request) else {
      return request.url == nil ? .targetNotCacheable : .methodNotStored
    }
    guard let urlResponse = cachedResponse.response as? HTTPURLResponse else { return .responseNotHTTP }
    guard var response = urlResponse.head else { return .statusNotFinal }
    guard !Self.isUnread(request, head) else {
      return head.method.isQuery ? .queryNotKeyed : .requestContent
    }
    // As in the session: Foundation passes on decoded content, and the fields must describe that content.
    ContentDecoding.normalize(&response)
    if response.headerFields[.contentLength] != nil {
      response.headerFields[.contentLength] = String(cachedResponse.data.count)
    }
    return cache.store(
      response, content: Array(cachedResponse.data), for: head, requestContent: Self.content(request),
      tiers: StoreTiers(cachedResponse.storagePolicy), annotation: CacheNote(cachedResponse).encoded())
  }

  /// Removes all stored responses for a request's URL; responses in flight for it are not stored.
  public func removeCachedResponse(for request: URLRequest) {
    if let head = HTTPRequest(request) { cache.remove(.target(of: head)) }
  }

  /// Removes all stored responses.
  public func removeAllCachedResponses() {
    cache.remove(.all)
  }

  /// Removes all responses that were stored or last validated at a date or later; on disk, to the second.
  public func removeCachedResponses(since date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
    cache.remove(
      .since(Timestamp(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max))))
  }

  // MARK: - By task

  /// Passes the stored response for a task's request to a handler; see ``cachedResponse(for:)``. The handler is called
  /// before this method returns.
  public func getCachedResponse(
    for dataTask: URLSessionDataTask, completionHandler: (CachedURLResponse?) -> Void
  ) {
    completionHandler(Self.request(dataTask).flatMap(cachedResponse(for:)))
  }

  /// Stores a response to a task's request; see ``storeCachedResponse(_:for:)-(_,URLRequest)``.
  public func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
    Self.request(dataTask).map { _ = storeCachedResponse(cachedResponse, for: $0) }
  }

  /// Removes all stored responses for the URL of a task's request.
  public func removeCachedResponse(for dataTask: URLSessionDataTask) {
    Self.request(dataTask).map(removeCachedResponse(for:))
  }

  private static func request(_ task: URLSessionDataTask) -> URLRequest? {
    task.currentRequest ?? task.originalRequest
  }

  /// Whether the request's content matters and is a stream, which this method does not read.
  private static func isUnread(_ request: URLRequest, _ head: HTTPRequest) -> Bool {
    request.httpBodyStream != nil && head.method.mayHeedContent
  }

  private static func content(_ request: URLRequest) -> [UInt8] { request.httpBody.map { Array($0) } ?? [] }
}
