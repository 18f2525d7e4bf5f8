// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCaching

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Carries a cache and its options from a configuration to its sessions.
///
/// Each session copies its configuration, and the copy has the same object as its `urlCache`. So a cache stays open as
/// long as a configuration or a session that uses it.
///
/// For an application, this is the `urlCache` of its session: what it reads, stores and removes here is in the cache. For
/// Foundation, it is a `URLCache` that stores nothing: the methods that Foundation calls for each task do nothing.
final class CacheCarrier: EmptyURLCache, @unchecked Sendable {
  // Unchecked, as the superclass is: what this class adds does not change, or a mutex protects it.
  let cache: HTTPCache
  let options: CachingOptions
  /// Whether a task leads to its session. If not, there can be one session only.
  let readsSessions: Bool
  /// Returns the thread on which the clients of its sessions must be called; see `Platform`.
  let clientThread: @Sendable () -> ClientThread?
  private let presumed: MutexBox<PresumedSession>

  /// The session of a configuration, where a task does not lead to its session.
  private struct PresumedSession: @unchecked Sendable {
    // Unchecked: used under a lock, and the application must not change a configuration while a session loads.
    /// The configuration, which the application may change before it makes the session. It refers to the carrier, so only
    /// a weak reference is left after a time, or after the first task.
    var original: URLSessionConfiguration?
    weak var watched: URLSessionConfiguration?
    var settings: SessionSettings?
    var binding: CacheBinding?
    /// Whether a task has used the binding: the settings must not change any longer.
    var isUsed = false
    /// The identifiers of its tasks, of which a session has each once.
    var tasks = IndexSet()
    /// Whether tasks of another session were seen.
    var isShared = false
    /// Whether the settings were seen to change, even if the configuration is gone now.
    var isChanged = false
  }

  /// The time in which an application makes its session from a configuration. A copy of the settings is made after it.
  private static let originalTime = DispatchTimeInterval.seconds(10)

  /// Makes the `urlCache` of a configuration.
  init(
    _ cache: HTTPCache, _ options: CachingOptions, in configuration: URLSessionConfiguration,
    readsSessions: Bool, clientThread: @escaping @Sendable () -> ClientThread?
  ) {
    self.cache = cache
    self.options = options
    self.readsSessions = readsSessions
    self.clientThread = clientThread
    presumed = MutexBox(PresumedSession(original: readsSessions ? nil : configuration))
    super.init(withoutRoom: ())
    configuration.urlCache = self
    if !readsSessions {
      // On the main queue, where applications change their configurations.
      DispatchQueue.main.asyncAfter(deadline: .now() + Self.originalTime) { [weak self] in
        self?.releaseOriginal()
      }
    }
  }

  /// Copies the settings of the configuration, and releases it: each refers to the other.
  func releaseOriginal() {
    presumed.mutex.withLock { session in
      if session.original != nil { adoptSettings(&session) }
    }
  }

  /// Takes the present settings of the configuration, if it exists, as those of the session.
  private func adoptSettings(_ session: inout PresumedSession) {
    guard let current = session.original ?? session.watched else { return }
    (session.original, session.watched) = (nil, current)
    session.settings = SessionSettings(current)
    session.binding = binding(of: current)
  }

  /// Makes the binding of a session with this configuration. It is copied without this object: on Linux, an application can
  /// change the configuration of a session.
  func binding(of configuration: URLSessionConfiguration) -> CacheBinding {
    let copy = (configuration.copy() as? URLSessionConfiguration) ?? configuration
    copy.urlCache = nil
    return CacheBinding(cache: cache, options: options, configuration: copy)
  }

  /// Returns the binding of the only session, where a task does not lead to its session.
  ///
  /// If there are several after all, each task gets a binding of its own, with its own connections: the delegate of one
  /// session must not get a connection that only the delegate of another has accepted.
  ///
  /// - Throws: `URLError` if the configuration was changed since the first task. The task may then be that of another
  ///   session, and would have the wrong user's settings. It also throws if this task alone does not lead to its session.
  func presumedBinding(for task: URLSessionTask?, _ url: URL?) throws -> CacheBinding {
    guard !readsSessions else {
      throw URLError(
        .unsupportedURL, url,
        "Foundation does not tell which session runs this task. Send the request again, or use HTTPCacheSession."
      )
    }
    let binding = presumed.mutex.withLock { session -> CacheBinding? in
      if !session.isUsed { adoptSettings(&session) }
      session.isUsed = true
      if let watched = session.watched, SessionSettings(watched) != session.settings {
        session.isChanged = true
      }
      if let number = task?.taskIdentifier {
        // On Linux, `insert` always says that it has inserted.
        if session.tasks.contains(number) { session.isShared = true }
        session.tasks.insert(number)
      }
      guard !session.isChanged else { return nil }
      return session.isShared && options.authenticate == nil ? session.binding?.separated() : session.binding
    }
    if let binding { return binding }
    throw URLError(
      .unsupportedURL, url,
      "The session's configuration was changed after its first task, and Foundation does not tell which session runs this "
        + "one. Call caching(with:) again for each session with other settings.")
  }

  // MARK: - URLCache

  // For the application. Made for each call: on Apple platforms, the object watches the system's memory while it exists.
  private var urlCache: HTTPURLCache { HTTPURLCache(cache) }

  override func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
    urlCache.cachedResponse(for: request)
  }

  override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
    urlCache.storeCachedResponse(cachedResponse, for: request)
  }

  override func removeCachedResponse(for request: URLRequest) { urlCache.removeCachedResponse(for: request) }

  override func removeCachedResponse(for dataTask: URLSessionDataTask) {
    urlCache.removeCachedResponse(for: dataTask)
  }

  override func removeCachedResponses(since date: Date) { urlCache.removeCachedResponses(since: date) }

  // `URLSession.reset` calls it, too.
  override func removeAllCachedResponses() { urlCache.removeAllCachedResponses() }

  override var currentMemoryUsage: Int { urlCache.currentMemoryUsage }

  override var currentDiskUsage: Int { urlCache.currentDiskUsage }

  // For Foundation.

  override func getCachedResponse(
    for dataTask: URLSessionDataTask, completionHandler: @escaping (CachedURLResponse?) -> Void
  ) {
    completionHandler(nil)
  }

  override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {}
}

/// The settings of a configuration that the requests of its sessions depend on.
struct SessionSettings: Hashable, @unchecked Sendable {
  // Unchecked: the values are texts, numbers and objects that are only compared.
  private let values: [AnyHashable?]

  init(_ configuration: URLSessionConfiguration) {
    let fields = SendableConfiguration(configuration).additionalFields.map { "\($0.name): \($0.value)" }
    let portable: [AnyHashable?] = [
      configuration.identifier, configuration.requestCachePolicy.rawValue,
      configuration.timeoutIntervalForRequest, configuration.timeoutIntervalForResource,
      configuration.networkServiceType.rawValue, configuration.allowsCellularAccess,
      configuration.isDiscretionary, configuration.httpShouldSetCookies,
      configuration.httpCookieAcceptPolicy.rawValue, configuration.httpMaximumConnectionsPerHost,
      fields.sorted(),
      // A storage and a dictionary of a proxy are equal if they are the same, or have the same values.
      configuration.httpCookieStorage, configuration.urlCredentialStorage,
      configuration.connectionProxyDictionary.map { "\($0.sorted { "\($0.key)" < "\($1.key)" })" },
      (configuration.protocolClasses ?? []).filter { !($0 is CachingURLProtocol.Type) }
        .map { ObjectIdentifier($0) },
    ]
    values = portable + Platform.furtherSettings(of: configuration)
  }
}

/// A mutex for a subclass of `NSObject`.
///
/// A mutex by value would be an instance variable of a type that Objective-C does not know. Nothing has confirmed on an Apple
/// platform that its runtime lays out such an instance, so these classes refer to an object of Swift.
final class MutexBox<Value>: Sendable {
  let mutex: Mutex<Value>

  init(_ value: consuming sending Value) { mutex = Mutex(value) }
}

/// The thread on which Foundation started a load. Apple documents that the client must be called there.
package struct ClientThread: Sendable {
  /// Makes a call on the thread, after all earlier ones. It returns before the call is made.
  let perform: @Sendable (_ call: @escaping @Sendable () -> Void) -> Void

  package init(_ perform: @escaping @Sendable (_ call: @escaping @Sendable () -> Void) -> Void) {
    self.perform = perform
  }
}
