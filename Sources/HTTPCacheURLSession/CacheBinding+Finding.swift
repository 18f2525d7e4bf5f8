// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension CacheBinding {
  /// The binding of a session, on the session's own queue. It goes when the queue goes.
  private static let key = DispatchSpecificKey<CacheBinding>()

  /// Returns the binding of the session that runs a task.
  ///
  /// Called by `startLoading`, on the session's queue. Reflection finds the session in its first task. After that, the
  /// queue has the binding, so that a hit does not pay for that.
  static func find(
    for task: URLSessionTask?, _ type: CachingURLProtocol.Type, _ request: URLRequest
  ) throws -> CacheBinding {
    let carrier = CacheCarriers.carrier(of: type)
    if let known = DispatchQueue.getSpecific(key: key) { return known }
    if carrier?.readsSessions ?? true, let session = task.flatMap(Platform.session(of:)),
      let queue = Platform.loadingQueue(of: session)
    {
      let configuration = session.configuration
      guard let carrier = carrier ?? (configuration.urlCache as? CacheCarrier) else {
        throw missing(type, request)
      }
      let made = carrier.binding(of: configuration)
      queue.setSpecific(key: key, value: made)
      return made
    }
    guard let carrier else { throw missing(type, request) }
    return try carrier.presumedBinding(for: task, request.url)
  }

  private static func missing(_ type: CachingURLProtocol.Type, _ request: URLRequest) -> URLError {
    URLError(
      .unsupportedURL, request.url,
      type == CachingURLProtocol.self
        ? "CachingURLProtocol has no cache of its own. Make the session's configuration with "
          + "URLSessionConfiguration.caching(with:)."
        : "The configuration's urlCache was replaced, which refers to the cache of this session. Leave it as caching(with:) "
          + "made it.")
  }
}

/// All carriers, by the class that was made for each.
///
/// A session makes its protocol objects from the class alone, and asks the class whether it is for a request.
enum CacheCarriers: ClassMaker {
  private static let table = ClassTable<CacheCarriers, Reference>()

  /// The class stays for the life of the process, as every class does; the carrier does not.
  private struct Reference: @unchecked Sendable {
    // Unchecked: a weak reference that nothing changes.
    weak var carrier: CacheCarrier?
  }

  static func makeClass(for carrier: CacheCarrier) -> CachingURLProtocol.Type {
    table.makeClass(for: Reference(carrier: carrier))
  }

  static func carrier(of type: CachingURLProtocol.Type) -> CacheCarrier? { table.value(of: type)?.carrier }

  static func makeClass<Digits>(_ digits: Digits.Type) -> CachingURLProtocol.Type {
    BoundURLProtocol<Digits>.self
  }
}

/// The class that one configuration lists.
final class BoundURLProtocol<Digits>: CachingURLProtocol {}
