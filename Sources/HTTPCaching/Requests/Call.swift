// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// The parameters of one request to the cache.
struct Call: Sendable {
  var request: HTTPRequest
  var body: MessageBody
  var policy: RequestCachePolicy
  /// Receives the interim responses; `nil` for a request that no client waits for.
  var interim: InterimReceiver?
  var willStore: StorageHook?
  var lifetime: LifetimeRule?
  var transport: Transport
  /// What the rules decide about the request; `nil` if none concerns it.
  var ruled: RuledRequest?
  /// Runs the fetch in a cache without a disk; `nil` for Swift's own executor.
  var executor: (any TaskExecutor)?
  /// Withholds requests from an origin that does not answer; `nil` if all are sent.
  var withhold: Withholding?
  /// Set if a handler in this process is the origin.
  var localOrigin: LocalOrigin?
  /// When the request began, for the event that ends it.
  var begun: EventHub.Moment = 0

  /// Whether a stale response may be served while it is revalidated.
  var revalidatesInBackground: Bool { localOrigin.map { $0.background != nil } ?? true }
}

/// Whether the request was coalesced with another: the `collapsed` parameter of `Cache-Status` (RFC 9211 §2.6).
enum Collapsing: Hashable, Sendable {
  /// It went to the origin by itself, or did not need the origin.
  case notTried
  /// It waited for a response that it could not use.
  case inVain
  /// The response to another request answers it.
  ///
  /// - Parameters:
  ///   - forward: why it would have gone to the origin.
  ///   - status: the origin's status code for the other request; `nil` if there was none.
  ///   - isStored: whether the response is stored; `false` if it still arrives, and that is unknown.
  case collapsed(forward: CacheStatus.Forward? = nil, status: Int?, isStored: Bool = true)

  /// The same for a request that now sends its own: whatever it waited for was of no use.
  var whenSent: Collapsing { self == .notTried ? .notTried : .inVain }

  /// The parameter's value; `nil` if the response has none.
  var isCollapsed: Bool? {
    switch self {
    case .notTried: nil
    case .inVain: false
    case .collapsed: true
    }
  }
}
