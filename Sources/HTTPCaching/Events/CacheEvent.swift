// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// One action of the cache, or a change of its disk or its shared tier: for logs, for metrics, and to find out why a
/// response was not cached.
///
/// The events of a request begin with ``Action/served``, ``Action/forwarded`` or ``Action/refused``. When the origin
/// answers, ``Action/received`` follows, and a forwarded request ends with ``Action/answered`` or ``Action/failed``. They have a ``request`` and a ``reason``; the events of
/// the disk and of the shared tier have neither, and a ``cause`` if something fails.
public struct CacheEvent: Sendable, CustomStringConvertible {
  /// The kinds of actions of a cache.
  ///
  /// Switch over them with a `default`: later versions may add more. The text form is the name of the member.
  public struct Action: Hashable, Sendable, CaseIterable, CustomStringConvertible {
    private enum Value: UInt8, CaseIterable {
      case served, forwarded, received, refused, answered, failed, stored, notStored, updated, invalidated
      case diskFailing, diskFull, diskRecovered, diskDiscarded, diskUnavailable
      case sharedTierUnavailable, sharedTierAvailable, outOfStep, inStep
    }

    private let value: Value

    private init(_ value: Value) { self.value = value }

    /// A request was answered from the store, without the origin.
    public static var served: Action { Action(.served) }
    /// A request went to the origin.
    public static var forwarded: Action { Action(.forwarded) }
    /// The origin has answered a request: the head of its response is there.
    public static var received: Action { Action(.received) }
    /// A request was answered without the origin and the store, or failed without them.
    public static var refused: Action { Action(.refused) }
    /// A request that went to the origin was answered, by the origin or from the store.
    public static var answered: Action { Action(.answered) }
    /// A request that went to the origin was not answered.
    public static var failed: Action { Action(.failed) }
    /// A response was stored; the reason `CacheEngine.Reason.storedAsPart` means that it is incomplete.
    public static var stored: Action { Action(.stored) }
    /// A response was not stored.
    public static var notStored: Action { Action(.notStored) }
    /// A stored response was updated, or marked as out of date.
    public static var updated: Action { Action(.updated) }
    /// Responses stored under a URI were removed, or those of a group or an origin were marked invalid.
    public static var invalidated: Action { Action(.invalidated) }

    /// The disk refused a write or a sync. Until an attempt to write succeeds, new responses are kept in memory only.
    ///
    /// The cache makes attempts as more is stored: at once at first, then less and less often, but after 30 seconds at the
    /// latest. A directory that is removed or moved away counts as failing, too.
    public static var diskFailing: Action { Action(.diskFailing) }
    /// The file system has less room than the disk's capacity. Stored responses are evicted for new ones.
    public static var diskFull: Action { Action(.diskFull) }
    /// The disk takes all responses again.
    public static var diskRecovered: Action { Action(.diskRecovered) }
    /// At its opening, the directory held an unreadable cache. It was discarded, and the cache began empty.
    public static var diskDiscarded: Action { Action(.diskDiscarded) }
    /// The directory could not be opened, and the cache works in memory only. Only `HTTPURLCache` opens a cache this way:
    /// `HTTPCache` throws the error instead.
    public static var diskUnavailable: Action { Action(.diskUnavailable) }
    /// The shared tier fails, or cannot be reached from the start: the cache works without it. Repeated once an hour while
    /// it lasts.
    public static var sharedTierUnavailable: Action { Action(.sharedTierUnavailable) }
    /// The shared tier works again.
    public static var sharedTierAvailable: Action { Action(.sharedTierAvailable) }
    /// The cache cannot tell whether other nodes of the shared tier have removed something: it validates its content
    /// before use.
    public static var outOfStep: Action { Action(.outOfStep) }
    /// The cache knows all removals of other nodes again.
    public static var inStep: Action { Action(.inStep) }

    /// All actions of this version.
    public static var allCases: [Action] { Value.allCases.map { Action($0) } }

    public var description: String { "\(value)" }

    /// The bit of the action in a set of actions.
    var bit: UInt32 { 1 << UInt32(value.rawValue) }

    /// What has happened to the disk or to the shared tier; `nil` for the actions of requests.
    package var change: String? {
      switch value {
      case .served, .forwarded, .received, .refused, .answered, .failed, .stored, .notStored, .updated,
        .invalidated:
        nil
      case .diskFailing: "the disk fails; responses are kept in memory only"
      case .diskFull: "the file system is full; stored responses are evicted for new ones"
      case .diskRecovered: "the disk works again"
      case .diskDiscarded: "the directory held an unreadable cache, which was discarded"
      case .diskUnavailable: "the directory cannot be opened; the cache works in memory only"
      case .sharedTierUnavailable: "the shared tier is unavailable; the cache works without it"
      case .sharedTierAvailable: "the shared tier is available again"
      case .outOfStep: "out of step with the shared tier; stored responses are validated"
      case .inStep: "in step with the shared tier"
      }
    }
  }

  /// What the cache did.
  public var action: Action
  /// The client's request.
  public var request: HTTPRequest?
  /// Why it did so with the request.
  public var reason: CacheEngine.Reason?
  /// The source of the response, if the request was answered.
  public var source: CachedResponse.Source?
  /// The number of bytes of content that were stored or are served from the store; `nil` for other actions.
  public var byteCount: Int?
  /// The time from the request to the head of its response, for the actions that end a request. For ``Action/received``,
  /// the time that the origin took. `nil` for other actions, and if nothing observed the cache when the time began.
  public var duration: Duration?
  /// The store's refusal, with the sizes that decided it; `nil` unless the store refused the response.
  public var refusal: InsertRefusal?
  /// The partition that the request belongs to (default: empty).
  public var partition: String
  /// Why the disk or the shared tier fails: a `StoreError` for the disk.
  public var cause: (any Error)?

  init(
    _ action: Action, _ request: HTTPRequest? = nil, _ reason: CacheEngine.Reason? = nil,
    source: CachedResponse.Source? = nil, byteCount: Int? = nil, refusal: InsertRefusal? = nil,
    partition: String = "", duration: Duration? = nil, cause: (any Error)? = nil
  ) {
    (self.action, self.request, self.reason, self.source) = (action, request, reason, source)
    (self.byteCount, self.refusal, self.partition) = (byteCount, refusal, partition)
    (self.duration, self.cause) = (duration, cause)
  }

  /// The target URI of the request; the available part of it if it is incomplete, and empty without a request.
  public var uri: String { request.flatMap { TargetURI($0)?.text ?? $0.path } ?? "" }

  public var description: String {
    guard let request, let reason else {
      return (action.change ?? "\(action)") + (cause.map { ": \($0)" } ?? "")
    }
    let detail = refusal.map { " (\($0))" } ?? ""
    return "\(action) \(request.method.rawValue) \(uri): \(reason)\(detail)"
  }
}
