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
/// long as a configuration or a session that uses it. For Foundation, this is a `URLCache` that stores nothing.
final class CacheCarrier: URLCache, @unchecked Sendable {
  // Unchecked, as the superclass is: what this class adds does not change, or a mutex protects it.
  let cache: HTTPCache
  let options: CachingOptions
  /// Whether a task leads to its session. If not, there can be one session only.
  let readsSessions: Bool
  private let presumed: Mutex<PresumedSession>

  /// The session of a configuration, where a task does not lead to its session.
  private struct PresumedSession: @unchecked Sendable {
    // Unchecked: used under a lock, and the application must not change a configuration while a session loads.
    /// The configuration, which the application may change before it makes the session. It refers to the carrier, so only
    /// a weak reference is left after the first task.
    var original: URLSessionConfiguration?
    weak var watched: URLSessionConfiguration?
    var settings: SessionSettings?
    var binding: CacheBinding?
  }

  /// Makes the `urlCache` of a configuration.
  init(
    _ cache: HTTPCache, _ options: CachingOptions, in configuration: URLSessionConfiguration,
    readsSessions: Bool
  ) {
    self.cache = cache
    self.options = options
    self.readsSessions = readsSessions
    presumed = Mutex(PresumedSession(original: readsSessions ? nil : configuration))
    super.init(memoryCapacity: 0, diskCapacity: 0, diskPath: nil)
    configuration.urlCache = self
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
  /// - Throws: `URLError` if the configuration was changed since the first task. The task may then be that of another
  ///   session, and would have the wrong user's settings.
  func presumedBinding(for url: URL?) throws -> CacheBinding {
    let binding = presumed.withLock { session -> CacheBinding? in
      if let original = session.original {
        (session.original, session.watched) = (nil, original)
        session.settings = SessionSettings(original)
        session.binding = self.binding(of: original)
      }
      let isChanged = session.watched.map { SessionSettings($0) != session.settings } ?? false
      return isChanged ? nil : session.binding
    }
    if let binding { return binding }
    throw URLError(
      .unsupportedURL, url,
      "The session's configuration was changed after its first task, and Foundation does not tell which session runs this "
        + "one. Call caching(with:) again for each session with other settings.")
  }

  // MARK: - URLCache

  override func cachedResponse(for request: URLRequest) -> CachedURLResponse? { nil }

  override func getCachedResponse(
    for dataTask: URLSessionDataTask, completionHandler: @escaping (CachedURLResponse?) -> Void
  ) {
    completionHandler(nil)
  }

  override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {}
  override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {}
}

/// The settings of a configuration that the requests of its sessions depend on.
struct SessionSettings: Hashable, @unchecked Sendable {
  // Unchecked: the values are texts, numbers and objects that are only compared.
  private let values: [AnyHashable?]

  init(_ configuration: URLSessionConfiguration) {
    let fields = SendableConfiguration(configuration).additionalFields.map { "\($0.name): \($0.value)" }
    values = [
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
  }
}
