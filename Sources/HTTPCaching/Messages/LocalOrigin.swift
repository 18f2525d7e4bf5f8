// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPTypes

/// How a cache for the handlers of the same process differs from a cache for an origin on the network.
///
/// - The handler runs in the task of the request that it answers. So a background revalidation needs a transport of its
///   own. Without one, a response that may be used while it is revalidated is revalidated first.
/// - Responses that declare nothing about caching are not stored (`CacheEngine.Exchange.storesUndeclared`). The
///   application has no other place to say that it forgot them, and a handler that never answers 304 gains nothing from
///   stored validators.
/// - Content that is not stored stays with the caller.
/// - ``target`` is the first name of the target list (RFC 9213 §2.2): by this field, a handler speaks to its cache alone.
package struct LocalOrigin: Sendable {
  /// Runs the handler for a background revalidation; `nil` if only requests can run it.
  package var background: Transport?

  /// The targeted field that replaces `Cache-Control` for the cache of this process. It is stored, so that a 304 without
  /// it changes nothing. The adapter removes it from what clients get.
  package static let target = "HTTPCacheEngine-Cache-Control"

  package init(background: Transport? = nil) {
    self.background = background
  }
}

extension CacheEngine {
  /// Returns the engine that judges what handlers of this process respond.
  var local: CacheEngine {
    var configuration = configuration
    configuration.targets.insert(LocalOrigin.target, at: 0)
    return CacheEngine(configuration)
  }
}

/// What a handler has returned for one request: the content of a response that is not stored, or its error, which does not
/// pass through the cache.
final class OwnResult: Sendable {
  private let state = Mutex<Result<MessageBody, any Error>>(.success(.empty))

  /// Runs the handler, and returns what the cache gets.
  func result(_ handler: @Sendable () async throws -> TransportResponse) async -> TransportResponse {
    do {
      var response = try await handler()
      state.withLock { $0 = .success(response.body) }
      LocalOrigin.settle(&response.head)
      if let next = response.next { response.next = { [self] in await result(next) } }
      return response
    } catch {
      state.withLock { $0 = .failure(error) }
      return TransportResponse(head: HTTPResponse(status: .internalServerError))
    }
  }

  /// Returns the content of the latest response.
  ///
  /// - Throws: the handler's error.
  func content() throws -> MessageBody { try state.withLock { $0 }.get() }
}

extension LocalOrigin {
  /// Makes what a handler says for this cache alone agree with the rest of its response.
  fileprivate static func settle(_ head: inout HTTPResponse) {
    guard let name = HTTPField.Name(target) else { return }
    let setsCookies = head.headerFields.contains(.setCookie)
    if head.headerFields.contains(name) {
      // Cookies are not for others.
      if setsCookies { head.headerFields[name] = nil }
    } else if head.status == .notModified {
      // The field of the stored response would outlast what the handler says now.
      head.headerFields[name] = setsCookies ? "private" : head.headerFields[.cacheControl]
    }
  }
}
