// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// One request to the origin and what came of it: the question to ``CacheEngine/outcome(of:)``.
  public struct Exchange: Hashable, Sendable {
    /// What the origin did.
    public enum Result: Hashable, Sendable {
      case response(HTTPResponse)
      /// No response: the origin could not be reached, or the connection broke before a head arrived.
      case failure
      /// No response either, but for another reason than that the origin is out of reach: it could not prove who it is, or
      /// did not speak HTTP.
      case fault
    }

    /// The request that went to the origin.
    package var forwarding: Forwarding
    /// The stored responses that the plan was made from, in the same order.
    package var candidates: [StoredResponse]
    /// What the origin did.
    package var result: Result
    /// How long the content of the response is, where the transport knows it.
    package var contentLength: Int64?
    /// When the request was sent.
    package var requestTime: Timestamp
    /// When the head of the response arrived, or the failure.
    package var responseTime: Timestamp

    /// - Parameters:
    ///   - forwarding: the request that went to the origin.
    ///   - candidates: the stored responses that the plan was made from, in the same order.
    ///   - result: what the origin did.
    ///   - contentLength: the length of the content in bytes, if the transport knows it.
    ///   - requestTime: when the request was sent.
    ///   - responseTime: when the head of the response, or the failure, arrived.
    public init(
      forwarding: Forwarding, candidates: [StoredResponse], result: Result, contentLength: Int64? = nil,
      requestTime: Timestamp, responseTime: Timestamp
    ) {
      self.forwarding = forwarding
      self.candidates = candidates
      self.result = result
      self.contentLength = contentLength
      self.requestTime = requestTime
      self.responseTime = responseTime
    }
  }
}

extension CacheEngine {
  /// What becomes of an exchange, and of what is stored.
  public struct Outcome: Hashable, Sendable {
    /// What the client gets.
    ///
    /// Indirect, for most outcomes carry none of these cases, and a value of 500 bytes takes its time to be handed on.
    public indirect enum Answer: Hashable, Sendable {
      /// The origin's response, as it came.
      case network
      /// A stored response, as updated.
      case stored(StoredAnswer)
      /// A stored response, completed: its content goes around the network's, as ``Outcome/assembly`` says.
      case completed(StoredAnswer)
      /// Nothing yet: this request is to be sent, and its outcome asked for.
      case forwardAgain(Forwarding)
      /// A response that the cache generates, as the origin cannot be reached and a directive asks for it (RFC 9111
      /// §5.2.2.2).
      case generated(Refusal)
      /// The transport's error: nothing stored may be used instead.
      case failure
    }

    /// A stored response as the answer to a request that went to the origin.
    public struct StoredAnswer: Hashable, Sendable {
      /// The position among the candidates: whose content is served.
      public var candidate: Int
      /// The head to serve it with.
      public var response: StoredResponse
      package var ageInSeconds: Int64?
      package var remainingSeconds: Int64
      /// Whether the response is stale and is served nevertheless.
      public var isStale: Bool
      /// How much of the stored content is the answer.
      public var content: ContentSelection

      /// The value of `Age`; `nil` where the origin has just validated the response, and gave none.
      public var age: Duration? { ageInSeconds.map { .seconds($0) } }
      /// How much longer the response is fresh, in whole seconds; zero or less if it is stale.
      public var remainingLifetime: Duration { .seconds(remainingSeconds) }
    }

    /// Whether the response is to be stored.
    public enum Storage: Hashable, Sendable {
      case store(StoredResponse, Reason)
      case refuse(Reason)
      /// There is nothing that could be stored: no response, or one that only updates.
      case none

      /// Why; `nil` for ``none``.
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
      /// The head as it is to be stored.
      public var response: StoredResponse
      /// Why.
      public var reason: Reason
    }

    /// Stored responses that are invalid together.
    public struct InvalidatedScope: Hashable, Sendable {
      /// The group or the origin.
      public var scope: CacheScope
      /// Why.
      public var reason: Reason
    }

    /// What the client gets.
    public var answer: Answer
    /// Whether the response is to be stored.
    public var storage: Storage = .none
    /// Where the network's content belongs; `nil` where it is the whole, or nobody needs to know.
    public var assembly: ContentAssembly?
    /// Stored responses whose heads change.
    public var updates: [Update] = []
    /// A response to store beside the one that it was made from, for the requests that its selecting fields match. Both have
    /// the candidate's content.
    public var addition: Update?
    /// Positions of stored responses that the origin's answer has replaced with one that may not be stored.
    public var removals: [Int] = []
    /// Keys under which everything stored is invalid (RFC 9111 §4.4), as target URIs.
    public var invalidations: [TargetURI] = []
    /// What else is invalid under any key: a stored response is, if its ``StoredResponse/scopes(under:)`` contain the bytes of
    /// one of these (RFC 9875, Clear-Site-Data).
    public var invalidatedScopes: [InvalidatedScope] = []
    /// Why the client gets what it gets.
    public var reason: Reason
  }
}

extension CacheEngine.Outcome {
  init(
    _ answer: Answer, reason: CacheEngine.Reason, storage: Storage = .none,
    assembly: CacheEngine.ContentAssembly? = nil,
    updates: [Update] = [], removals: [Int] = [], invalidations: [TargetURI] = []
  ) {
    self.init(
      answer: answer, storage: storage, assembly: assembly, updates: updates, removals: removals,
      invalidations: invalidations, reason: reason)
  }
}
