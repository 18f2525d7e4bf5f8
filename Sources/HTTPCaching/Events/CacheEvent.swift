// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

/// One action of the cache, with its reason: for logs, for metrics, and to find out why a response was not cached.
///
/// The events of a request begin with ``Action/served``, ``Action/forwarded`` or ``Action/refused``. A forwarded
/// request ends with ``Action/answered`` or ``Action/failed``.
public struct CacheEvent: Sendable, CustomStringConvertible {
  /// The kinds of actions of a cache.
  ///
  /// Switch over them with a `default`: later versions may add more. The text form is the name of the member.
  public struct Action: Hashable, Sendable, CaseIterable, CustomStringConvertible {
    private enum Value: UInt8, CaseIterable {
      case served, forwarded, refused, answered, failed, stored, notStored, updated, invalidated
    }

    private let value: Value

    private init(_ value: Value) { self.value = value }

    /// A request was answered from the store, without the origin.
    public static var served: Action { Action(.served) }
    /// A request went to the origin.
    public static var forwarded: Action { Action(.forwarded) }
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

    /// All actions of this version.
    public static var allCases: [Action] { Value.allCases.map { Action($0) } }

    public var description: String { "\(value)" }

    /// The bit of the action in a set of actions.
    var bit: UInt16 { 1 << UInt16(value.rawValue) }
  }

  /// What the cache did.
  public var action: Action
  /// The client's request.
  public var request: HTTPRequest
  /// Why it did so.
  public var reason: CacheEngine.Reason
  /// The source of the response, if the request was answered.
  public var source: CachedResponse.Source?
  /// The number of bytes of content that were stored or are served from the store; `nil` for other actions.
  public var byteCount: Int?
  /// The store's refusal, with the sizes that decided it; `nil` unless the store refused the response.
  public var refusal: InsertRefusal?
  /// The partition that the request belongs to (default: empty).
  public var partition: String

  /// Makes an event. Each parameter is documented at the property of its name.
  package init(
    action: Action, request: HTTPRequest, reason: CacheEngine.Reason, source: CachedResponse.Source? = nil,
    byteCount: Int? = nil, partition: String = ""
  ) {
    self.action = action
    self.request = request
    self.reason = reason
    self.source = source
    self.byteCount = byteCount
    self.partition = partition
  }

  /// The method of the request.
  public var method: HTTPRequest.Method { request.method }
  /// The target URI; the available part of it if it is incomplete.
  public var uri: String { TargetURI(request)?.text ?? request.path ?? "" }

  public var description: String {
    let detail = refusal.map { " (\($0))" } ?? ""
    return "\(action) \(method.rawValue) \(uri): \(reason)\(detail)"
  }
}
