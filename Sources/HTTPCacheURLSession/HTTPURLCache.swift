// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import HTTPTypesFoundation
import Synchronization

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
/// What may be stored and which response belongs to a request is decided by RFC 9111: query strings count, `Vary` is
/// respected, what carries `no-store` is refused. ``cachedResponse(for:)`` gives a stored response whatever its age; only a
/// session asks whether it is fresh.
///
/// All members may be used from any thread. Those that read or write responses may block on the disk.
public final class HTTPURLCache: Sendable {
  /// The cache behind it.
  public let cache: HTTPCache
  /// Why there is no disk, though one was asked for; `nil` if there is one.
  public let diskError: (any Error)?

  private static let common = Mutex<HTTPURLCache?>(nil)

  /// The largest share of the disk's capacity that one response may take, unless set otherwise: as `URLCache` has it.
  package static let defaultMaximumEntryShare = 0.05

  /// A cache for the whole process: 4 MiB of memory and 20 MiB of disk, unless another was set.
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
  /// It does not fail: where the directory cannot be used, responses are kept in memory only, and ``diskError`` says why.
  ///
  /// - Parameters:
  ///   - memoryCapacity: bytes.
  ///   - diskCapacity: bytes; 0 for no disk, now and later, and else 1 MiB at least.
  ///   - directory: where responses lie, in clear, for this cache alone; `nil` for a folder in the user's caches folder with
  ///     the name of the process.
  ///   - whenUnreadable: what to do with a directory whose cache cannot be read: damaged, or of another version.
  public convenience init(
    memoryCapacity: Int, diskCapacity: Int, directory: URL? = nil, whenUnreadable: UnreadableDirectory = .fail
  ) {
    var configuration = HTTPCache.Configuration(
      memoryCapacity: max(0, memoryCapacity), diskCapacity: max(1 << 20, diskCapacity))
    configuration.maximumEntryShare = Self.defaultMaximumEntryShare
    configuration.whenUnreadable = whenUnreadable
    if diskCapacity > 0 {
      configuration.directory = FilePath((directory ?? Self.folder("HTTPURLCache")).path)
    }
    self.init(configuration)
  }

  /// Opens a cache.
  ///
  /// - Parameters:
  ///   - memoryCapacity: maximum bytes in memory.
  ///   - diskCapacity: maximum bytes on disk, at least 1 MiB; 0 disables the disk.
  ///   - path: the directory. A path that does not begin with a slash is relative to the user's caches folder, as with
  ///     `URLCache`.
  public convenience init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
    self.init(
      memoryCapacity: memoryCapacity, diskCapacity: diskCapacity,
      directory: path.map { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : Self.folder($0) })
  }

  /// Opens a cache that is set otherwise, as for what it serves when the origin is out of reach. It does not fail; see
  /// ``diskError``.
  public convenience init(_ configuration: HTTPCache.Configuration) {
    do {
      self.init(try HTTPCache(configuration))
    } catch {
      var inMemory = configuration
      inMemory.directory = nil
      // In memory nothing can be in the way.
      let store = CacheStore.inMemory(capacity: max(0, configuration.memoryCapacity))
      self.init(HTTPCache(store: store, configuration: inMemory), diskError: error)
    }
  }

  /// The facade of a cache that is open already.
  public init(_ cache: HTTPCache) {
    self.cache = cache
    diskError = nil
  }

  private init(_ cache: HTTPCache, diskError: any Error) {
    self.cache = cache
    self.diskError = diskError
  }

  private static func folder(_ name: String) -> URL {
    let caches =
      FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
      ?? FileManager.default.temporaryDirectory
    return caches.appendingPathComponent(ProcessInfo.processInfo.processName).appendingPathComponent(name)
  }

  // MARK: - Size

  /// The most bytes that responses may occupy in memory. What is above it is evicted at once.
  public var memoryCapacity: Int {
    get { cache.store.capacity.memory }
    set { cache.store.setCapacity(memory: newValue) }
  }

  /// The most bytes that they may occupy on disk, 1 MiB at least, or 0. What is above it is evicted at once.
  public var diskCapacity: Int {
    get { cache.store.capacity.disk }
    set { cache.store.setCapacity(disk: newValue) }
  }

  /// The bytes that responses occupy in memory.
  public var currentMemoryUsage: Int { cache.store.usage.memoryBytes }

  /// The bytes of all files of the cache.
  public var currentDiskUsage: Int { cache.store.usage.diskBytes }

  // MARK: - Responses

  /// What is stored for a request, whatever its age, with the current `Age`; `nil` if nothing is.
  ///
  /// The session's own fields, as `httpAdditionalHeaders` and cookies, are not known here: where a response varies on them,
  /// the request must have them.
  public func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    guard let head = HTTPRequest(request), let url = request.url, !Self.isUnread(request, head),
      let copy = cache.storedCopy(for: head, requestContent: Self.content(request)),
      let response = HTTPURLResponse(httpResponse: copy.head, url: url)
    else { return nil }
    let note = copy.annotation.flatMap { CacheNote(decoding: $0) }
    let userInfo = note?.userInfo ?? [:]
    return CachedURLResponse(
      response: response, data: Data(copy.content), userInfo: userInfo.isEmpty ? nil : userInfo,
      storagePolicy: note?.isInMemoryOnly == true ? .allowedInMemoryOnly : .allowed)
  }

  /// Stores a response in place of what is stored for the request, if the rules allow it.
  ///
  /// Of its `userInfo`, what is a property list is kept as long as the response is, on disk too, and in clear.
  ///
  /// - Returns: why it is stored, or why not.
  @discardableResult
  public func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest)
    -> CacheEngine.Reason
  {
    guard let head = HTTPRequest(request),
      var response = (cachedResponse.response as? HTTPURLResponse)?.httpResponse
    else { return .targetNotCacheable }
    guard !Self.isUnread(request, head) else {
      return head.method.isQuery ? .queryNotKeyed : .requestContent
    }
    // As the session does it: what Foundation hands out is decoded, and this is what the content is.
    ContentDecoding.normalize(&response)
    if response.headerFields[.contentLength] != nil {
      response.headerFields[.contentLength] = String(cachedResponse.data.count)
    }
    return cache.store(
      response, content: Array(cachedResponse.data), for: head, requestContent: Self.content(request),
      tiers: StoreTiers(cachedResponse.storagePolicy), annotation: CacheNote(cachedResponse).encoded())
  }

  /// Removes everything stored for a request's URL; what is on its way for it is not stored either.
  public func removeCachedResponse(for request: URLRequest) {
    if let head = HTTPRequest(request) { cache.removeResponses(for: head) }
  }

  /// Removes everything.
  public func removeAllCachedResponses() {
    cache.removeAllResponses()
  }

  /// Removes what was stored or last validated at a date or later; on disk, to the second.
  public func removeCachedResponses(since date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded(.down)
    cache.removeResponses(
      since: Timestamp(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)))
  }

  // MARK: - By task

  /// What is stored for a task's request; see ``cachedResponse(for:)``. The handler is called before this returns.
  public func getCachedResponse(
    for dataTask: URLSessionDataTask, completionHandler: (CachedURLResponse?) -> Void
  ) {
    completionHandler(Self.request(dataTask).flatMap(cachedResponse(for:)))
  }

  /// Stores a response to a task's request; see ``storeCachedResponse(_:for:)-(_,URLRequest)``.
  public func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
    Self.request(dataTask).map { _ = storeCachedResponse(cachedResponse, for: $0) }
  }

  /// Removes everything stored for the URL of a task's request.
  public func removeCachedResponse(for dataTask: URLSessionDataTask) {
    Self.request(dataTask).map(removeCachedResponse(for:))
  }

  private static func request(_ task: URLSessionDataTask) -> URLRequest? {
    task.currentRequest ?? task.originalRequest
  }

  /// Whether content that counts is a stream, which is not read here.
  private static func isUnread(_ request: URLRequest, _ head: HTTPRequest) -> Bool {
    request.httpBodyStream != nil && head.method.mayHeedContent
  }

  private static func content(_ request: URLRequest) -> [UInt8] { request.httpBody.map { Array($0) } ?? [] }
}
