// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// One request to the origin and its result: the parameter of ``CacheEngine/outcome(of:)``.
  public struct Exchange: Hashable, Sendable {
    /// The result of the request.
    public enum Result: Hashable, Sendable {
      /// The head of the response.
      case response(HTTPResponse)
      /// No response: the origin was unreachable, or the connection broke before a head arrived.
      case failure
      /// No response, for another reason than an unreachable origin: it could not prove its identity, or did not speak
      /// HTTP.
      case fault
    }

    /// The request that went to the origin.
    package var forwarding: Forwarding
    /// The stored responses that the plan was made from, in the same order.
    package var candidates: [StoredResponse]
    /// The result of the request.
    package var result: Result
    /// The length of the response's content, if the transport knows it.
    package var contentLength: Int64?
    /// The freshness lifetime that the application sets, in milliseconds; `nil` leaves it to the origin.
    package var lifetime: Int64?
    /// Whether a response is stored that has no field about caching.
    package var storesUndeclared = true
    /// When the request was sent.
    package var requestTime: Timestamp
    /// When the head of the response arrived, or the failure.
    package var responseTime: Timestamp
    /// The same, as the wall clock shows it: the dates of the origin are compared with it.
    package var arrival: Timestamp

    package var times: ExchangeTimes {
      ExchangeTimes(request: requestTime, response: responseTime, arrival: arrival)
    }

    /// - Parameters:
    ///   - forwarding: the request that went to the origin.
    ///   - candidates: the stored responses that the plan was made from, in the same order.
    ///   - result: the result of the request.
    ///   - contentLength: the length of the content in bytes, if the transport knows it.
    ///   - lifetime: the freshness lifetime that the application sets, from the arrival of the response on. It replaces
    ///     the origin's `Cache-Control` time, `Expires`, `no-cache` and `no-store`. All other rules apply, such as
    ///     `private` in a shared cache. `nil` leaves the lifetime to the origin.
    ///   - requestTime: when the request was sent.
    ///   - responseTime: when the head of the response, or the failure, arrived.
    ///   - arrival: the same, as the wall clock shows it, if `responseTime` is by a clock that is never set: the dates of
    ///     the origin are compared with it (default: `responseTime`).
    public init(
      forwarding: Forwarding, candidates: [StoredResponse], result: Result, contentLength: Int64? = nil,
      lifetime: Duration? = nil, requestTime: Timestamp, responseTime: Timestamp, arrival: Timestamp? = nil
    ) {
      self.forwarding = forwarding
      self.candidates = candidates
      self.result = result
      self.contentLength = contentLength
      self.lifetime = lifetime.map { Swift.max(0, $0.wholeMilliseconds) }
      self.requestTime = requestTime
      self.responseTime = responseTime
      self.arrival = arrival ?? responseTime
    }
  }
}

extension CacheEngine {
  /// The consequences of an exchange for the client and for the store.
  public struct Outcome: Hashable, Sendable {
    /// The client's response.
    ///
    /// Indirect, because most outcomes have none of the large cases, and copying a value of 500 bytes takes time.
    public indirect enum Answer: Hashable, Sendable {
      /// The origin's response, unchanged.
      case network
      /// A stored response, after an update.
      case stored(StoredAnswer)
      /// A stored response, completed: its content surrounds the network's, as ``Outcome/assembly`` describes.
      case completed(StoredAnswer)
      /// None yet: send this request, and ask for its outcome.
      case forwardAgain(Forwarding)
      /// A response that the cache generates, because the origin is unreachable and a directive requires it (RFC 9111
      /// §5.2.2.2).
      case generated(Refusal)
      /// The transport's error: no stored response may be used instead.
      case failure
    }

    /// A stored response as the answer to a request that went to the origin.
    public struct StoredAnswer: Hashable, Sendable {
      /// The position among the candidates of the response whose content is served.
      public var candidate: Int
      /// The head to serve.
      public var response: StoredResponse
      package var ageInSeconds: Int64?
      package var remainingSeconds: Int64
      /// Whether the response is served stale.
      public var isStale: Bool
      /// The part of the stored content that is served.
      public var content: ContentSelection

      /// The value of `Age`; `nil` if the origin has just validated the response without sending one.
      public var age: Duration? { ageInSeconds.map { .seconds($0) } }
      /// The remaining freshness lifetime, in whole seconds; zero or less if the response is stale.
      public var remainingLifetime: Duration { .seconds(remainingSeconds) }
    }

    /// Whether the response is stored.
    public enum Storage: Hashable, Sendable {
      /// The response is stored in this form, for this reason.
      case store(StoredResponse, Reason)
      /// The response is not stored, for this reason.
      case refuse(Reason)
      /// There is nothing to store: no response, or one that only updates.
      case none

      /// The reason; `nil` for ``none``.
      public var reason: Reason? {
        switch self {
        case .store(_, let reason), .refuse(let reason): reason
        case .none: nil
        }
      }
    }

    /// A stored response whose head changes.
    public struct Update: Hashable, Sendable {
      /// The position among the candidates.
      public var candidate: Int
      /// The new head.
      public var response: StoredResponse
      /// The reason of the change.
      public var reason: Reason
    }

    /// Stored responses that are invalidated together.
    public struct InvalidatedScope: Hashable, Sendable {
      /// The group or the origin.
      public var scope: CacheScope
      /// The reason of the invalidation.
      public var reason: Reason
    }

    /// The client's response.
    public var answer: Answer
    /// Whether the response is stored.
    public var storage: Storage = .none
    /// The position of the network's content in the representation; `nil` if the content is complete, or the position
    /// is not needed.
    public var assembly: ContentAssembly? {
      get { wholeLength.map { ContentAssembly(ofWhole: $0) } ?? changes.assembly }
      set {
        wholeLength = newValue.flatMap {
          let length = $0.received.upperBound
          return $0.received.lowerBound == 0 && $0 == ContentAssembly(ofWhole: length) ? length : nil
        }
        changes.assembly = wholeLength == nil ? newValue : nil
      }
    }
    /// Stored responses whose heads change.
    public var updates: [Update] {
      get { changes.updates }
      set { changes.updates = newValue }
    }
    /// Positions of stored responses that the origin's response takes the place of (RFC 9111 §4.3.3): it is not stored, or
    /// for other selecting fields.
    ///
    /// If the client gets the origin's response, remove them when that is complete, before the client gets its end: a transfer
    /// that ends early takes no place. Otherwise remove them before the client gets the answer.
    public var removals: [Int] {
      get { changes.removals }
      set { changes.removals = newValue }
    }
    /// Keys whose stored responses are all invalidated (RFC 9111 §4.4), as target URIs.
    public var invalidations: [TargetURI] {
      get { changes.invalidations }
      set { changes.invalidations = newValue }
    }
    /// Scopes that are invalidated under any key. A stored response is invalid if its ``StoredResponse/scopes(under:)``
    /// contain the bytes of one of these (RFC 9875, Clear-Site-Data).
    public var invalidatedScopes: [InvalidatedScope] {
      get { changes.invalidatedScopes }
      set { changes.invalidatedScopes = newValue }
    }
    /// The names of the fields of the origin's response that the client does not get: its tags, unless
    /// ``CacheEngine/Configuration/showsTags``.
    public var hiddenFields: [HTTPField.Name] {
      // Without making changes: this is read for each response.
      get { if case .some(let changes) = kept { changes.hiddenFields } else { [] } }
      set { changes.hiddenFields = newValue }
    }
    /// Why the client gets this response.
    public var reason: Reason

    /// The length that makes up the ``assembly``, if that is a whole representation without stored content: normally.
    private var wholeLength: Int64?
    private var kept = KeptChanges.none

    /// What most outcomes do not have.
    private struct Changes: Hashable {
      var assembly: ContentAssembly?
      var updates: [Update] = []
      var removals: [Int] = []
      var invalidations: [TargetURI] = []
      var invalidatedScopes: [InvalidatedScope] = []
      var hiddenFields: [HTTPField.Name] = []
    }

    /// Apart from the outcome, because most have no changes: to make, move and release empty ones took 360 of the 6,560
    /// instructions of judging a response.
    private enum KeptChanges: Hashable {
      case none
      indirect case some(Changes)
    }

    private var changes: Changes {
      get { if case .some(let changes) = kept { changes } else { Changes() } }
      // Outcomes without changes are equal.
      set { kept = newValue == Changes() ? .none : .some(newValue) }
    }

    /// Sets the ``updates`` and ``removals`` of an outcome that has no other changes.
    mutating func change(_ updates: [Update], _ removals: [Int]) {
      if !updates.isEmpty || !removals.isEmpty {
        kept = .some(Changes(updates: updates, removals: removals))
      }
    }

    /// Sets the ``assembly`` to a whole representation, without making it.
    mutating func assemble(wholeOf length: Int64) { wholeLength = length }

    /// Makes an outcome that stores and changes nothing.
    init(answer: Answer, reason: Reason) {
      self.answer = answer
      self.reason = reason
    }
  }
}

extension CacheEngine.Outcome {
  init(
    _ answer: Answer, reason: CacheEngine.Reason, storage: Storage = .none,
    assembly: CacheEngine.ContentAssembly? = nil, removals: [Int] = [], invalidations: [TargetURI] = []
  ) {
    self.init(answer: answer, reason: reason)
    self.storage = storage
    if let assembly { self.assembly = assembly }
    if !removals.isEmpty { self.removals = removals }
    if !invalidations.isEmpty { self.invalidations = invalidations }
  }
}
