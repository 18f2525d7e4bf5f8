// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheEngine {
  /// Why the engine decided as it did: a code, a section of a standard, and one sentence.
  ///
  /// Logs, metrics, `Cache-Status` and `httpcache explain` all use it, so they agree. It is an open set: a `switch` needs a
  /// `default`.
  public struct Reason: Hashable, Sendable, CaseIterable, RawRepresentable {
    /// The closed set behind the open type: a switch inside this package covers all.
    package enum Code: String, Hashable, Sendable, CaseIterable {
      // Served from the store.
      case fresh, freshByHeuristic, immutable, validated, staleAllowedByRequest, staleWhileRevalidate,
        staleIfError, staleWhileDisconnected, forbiddenWhileDisconnected, policyReturnsStored
      // Sent on to the origin.
      case nothingStored, noVariantMatches, stale, staleMustRevalidate, noLifetime, storedNoCache,
        storedInvalidated, storedInTheFuture, requestNoCache, requestMaxAge, requestMinFresh,
        originPrecondition, methodNotCacheable, queryNotKeyed, requestContent, unsafeMethod,
        targetNotCacheable, policyIgnoresStored, policyRevalidates, validationUnusable,
        contentIncomplete, completionUnusable
      // Not answered at all.
      case onlyIfCached, policyForbidsNetwork, originUnreachable, revalidationImpossible
      // Answered by the origin.
      case fromOrigin, replacedByOrigin, completedByOrigin
      // Stored.
      case storedWithLifetime, storedWithHeuristic, storedWithoutLifetime, storedAsPart, storedCombined,
        storedNeverReused
      // Not stored.
      case responseNoStore, requestNoStore, privateInSharedCache, authorizedInSharedCache, cookiesNotShared,
        cookiesBypassed, methodNotStored, statusNotFinal, statusNotUnderstood, notDeclaredCacheable,
        incompleteContent, partNotPlaced, partNotCombined, partAlreadyStored, refusedByApplication,
        tooLarge, transitFull, removedMeanwhile, overtaken, storeFailed, tooLargeForMemory,
        tooLargeForDisk, noCapacity, storeBusy, diskFailing, storeClosed
      // What became of stored responses.
      case freshened, variantLearned, freshenedByHead, freshenedByPart, outdatedByHead,
        invalidatedByUnsafeMethod, invalidatedByGroup, invalidatedWithGroup, clearedByOrigin
    }

    package let code: Code

    package init(_ code: Code) {
      self.code = code
    }

    /// The reason with a code as logs, metrics and `Cache-Status` show it; `nil` if this version has no such reason.
    public init?(rawValue: String) {
      guard let code = Code(rawValue: rawValue) else { return nil }
      self.code = code
    }

    /// The code that logs, metrics and the `detail` of `Cache-Status` show.
    public var rawValue: String { code.rawValue }

    // Those that `RawRepresentable` brings would compare texts.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }

    /// All reasons of this version. Later versions may have more.
    public static var allCases: [Self] { Code.allCases.map { Self($0) } }

    // Served from the store.
    /// The stored response is fresh. (RFC 9111 §4.2)
    public static var fresh: Self { Self(.fresh) }
    /// The stored response is fresh by a heuristic from its Last-Modified date. (RFC 9111 §4.2.2)
    public static var freshByHeuristic: Self { Self(.freshByHeuristic) }
    /// The stored response is immutable: while it is fresh, a reload need not ask for it. (RFC 8246 §2)
    public static var immutable: Self { Self(.immutable) }
    /// The origin validated the stored response. (RFC 9111 §4.3.3)
    public static var validated: Self { Self(.validated) }
    /// The stored response is stale, and the request's max-stale accepts it. (RFC 9111 §5.2.1.2)
    public static var staleAllowedByRequest: Self { Self(.staleAllowedByRequest) }
    /// The stored response is stale, and may be used while it is validated behind. (RFC 5861 §3)
    public static var staleWhileRevalidate: Self { Self(.staleWhileRevalidate) }
    /// The origin failed, and the stored response may be used stale in that case. (RFC 5861 §4)
    public static var staleIfError: Self { Self(.staleIfError) }
    /// The origin cannot be reached, and the cache is set to serve stale then. (RFC 9111 §4.2.4)
    public static var staleWhileDisconnected: Self { Self(.staleWhileDisconnected) }
    /// The origin cannot be reached; a directive forbids the stored response, and the user's override serves it. (RFC
    /// 9111 §4.2.4)
    public static var forbiddenWhileDisconnected: Self { Self(.forbiddenWhileDisconnected) }
    /// The request's cache policy takes a stored response whatever its age. (Policy)
    public static var policyReturnsStored: Self { Self(.policyReturnsStored) }

    // Sent on to the origin.
    /// Nothing is stored for this URI. (RFC 9111 §4)
    public static var nothingStored: Self { Self(.nothingStored) }
    /// Responses are stored for this URI, but their Vary fields match another request. (RFC 9111 §4.1)
    public static var noVariantMatches: Self { Self(.noVariantMatches) }
    /// The stored response is stale. (RFC 9111 §4.2)
    public static var stale: Self { Self(.stale) }
    /// The stored response is stale and must be validated before it is used again. (RFC 9111 §5.2.2.2)
    public static var staleMustRevalidate: Self { Self(.staleMustRevalidate) }
    /// The stored response says nothing from which a freshness lifetime could be had. (RFC 9111 §4.2.1)
    public static var noLifetime: Self { Self(.noLifetime) }
    /// The stored response carries no-cache: it is validated before every use. (RFC 9111 §5.2.2.4)
    public static var storedNoCache: Self { Self(.storedNoCache) }
    /// The stored response was marked invalid and must be validated first. (RFC 9111 §4.4)
    public static var storedInvalidated: Self { Self(.storedInvalidated) }
    /// The clock is behind the time of storing, so the age is not known. (RFC 9111 §4.2.3)
    public static var storedInTheFuture: Self { Self(.storedInTheFuture) }
    /// The request carries no-cache: the stored response is validated first. (RFC 9111 §5.2.1.4)
    public static var requestNoCache: Self { Self(.requestNoCache) }
    /// The stored response is older than the request's max-age accepts. (RFC 9111 §5.2.1.1)
    public static var requestMaxAge: Self { Self(.requestMaxAge) }
    /// The stored response does not stay fresh as long as the request's min-fresh asks. (RFC 9111 §5.2.1.3)
    public static var requestMinFresh: Self { Self(.requestMinFresh) }
    /// The request carries a precondition that only the origin may evaluate. (RFC 9111 §4.3.2)
    public static var originPrecondition: Self { Self(.originPrecondition) }
    /// Responses to this method are not taken from the cache. (RFC 9111 §3)
    public static var methodNotCacheable: Self { Self(.methodNotCacheable) }
    /// The content of the QUERY request is too long, or of unknown length, to be part of a key. (QUERY draft)
    public static var queryNotKeyed: Self { Self(.queryNotKeyed) }
    /// The request has content, which has no meaning with this method, but may have had one for the origin. (RFC 9110
    /// §9.3.1)
    public static var requestContent: Self { Self(.requestContent) }
    /// The method is unsafe, and is written through to the origin. (RFC 9111 §4)
    public static var unsafeMethod: Self { Self(.unsafeMethod) }
    /// The request has no complete target URI to store a response under. (RFC 9111 §2)
    public static var targetNotCacheable: Self { Self(.targetNotCacheable) }
    /// The request's cache policy does not look at stored responses. (Policy)
    public static var policyIgnoresStored: Self { Self(.policyIgnoresStored) }
    /// The request's cache policy has the origin validate a stored response first. (Policy)
    public static var policyRevalidates: Self { Self(.policyRevalidates) }
    /// The 304 response identifies no stored response, so the request is repeated in full. (RFC 9111 §4.3.4)
    public static var validationUnusable: Self { Self(.validationUnusable) }
    /// Only a part of the content is stored, and the request asks for more than that. (RFC 9111 §3.3)
    public static var contentIncomplete: Self { Self(.contentIncomplete) }
    /// The answer does not complete the stored content, so the request is repeated in full. (RFC 9111 §3.4)
    public static var completionUnusable: Self { Self(.completionUnusable) }

    // Not answered at all.
    /// The request carries only-if-cached, and nothing stored can answer it. (RFC 9111 §5.2.1.7)
    public static var onlyIfCached: Self { Self(.onlyIfCached) }
    /// The request's cache policy forbids the network, and nothing stored can answer it. (Policy)
    public static var policyForbidsNetwork: Self { Self(.policyForbidsNetwork) }
    /// The origin cannot be reached, and nothing stored may be used in its place. (RFC 9111 §4.2.4)
    public static var originUnreachable: Self { Self(.originUnreachable) }
    /// The stored response is stale and must be revalidated before use, and the origin cannot be reached. (RFC 9111
    /// §5.2.2.2)
    public static var revalidationImpossible: Self { Self(.revalidationImpossible) }

    // Answered by the origin.
    /// The response comes from the origin. (RFC 9111 §4)
    public static var fromOrigin: Self { Self(.fromOrigin) }
    /// The origin answered the validation with a full response, which replaces the stored one. (RFC 9111 §4.3.3)
    public static var replacedByOrigin: Self { Self(.replacedByOrigin) }
    /// The origin sent what was missing of the stored content. (RFC 9111 §3.4)
    public static var completedByOrigin: Self { Self(.completedByOrigin) }

    // Stored.
    /// Stored, with a freshness lifetime that the origin gave. (RFC 9111 §3)
    public static var storedWithLifetime: Self { Self(.storedWithLifetime) }
    /// Stored, with a heuristic freshness lifetime from its Last-Modified date. (RFC 9111 §4.2.2)
    public static var storedWithHeuristic: Self { Self(.storedWithHeuristic) }
    /// Stored without a freshness lifetime: it is validated before it is used. (RFC 9111 §4.2.1)
    public static var storedWithoutLifetime: Self { Self(.storedWithoutLifetime) }
    /// Stored as a part of the content, for requests of ranges within it. (RFC 9111 §3.3)
    public static var storedAsPart: Self { Self(.storedAsPart) }
    /// Stored together with other parts of the same representation. (RFC 9111 §3.4)
    public static var storedCombined: Self { Self(.storedCombined) }
    /// Stored, but it will never be reused: it carries Vary: *, which no request matches. (RFC 9111 §4.1)
    public static var storedNeverReused: Self { Self(.storedNeverReused) }

    // Not stored.
    /// The response carries no-store. (RFC 9111 §5.2.2.5)
    public static var responseNoStore: Self { Self(.responseNoStore) }
    /// The request carries no-store. (RFC 9111 §5.2.1.5)
    public static var requestNoStore: Self { Self(.requestNoStore) }
    /// The response is private, and this cache is shared. (RFC 9111 §5.2.2.7)
    public static var privateInSharedCache: Self { Self(.privateInSharedCache) }
    /// The request carried Authorization, and the response does not allow a shared cache to store it. (RFC 9111 §3.5)
    public static var authorizedInSharedCache: Self { Self(.authorizedInSharedCache) }
    /// The response carries Set-Cookie, and nothing in it declares that a shared cache's users may share it. (RFC
    /// 9111 §7.3)
    public static var cookiesNotShared: Self { Self(.cookiesNotShared) }
    /// The response carries Set-Cookie, and this shared cache stores none that do. (Policy)
    public static var cookiesBypassed: Self { Self(.cookiesBypassed) }
    /// Responses to this method are not stored. (RFC 9111 §3)
    public static var methodNotStored: Self { Self(.methodNotStored) }
    /// The status code is not that of a final response. (RFC 9110 §15)
    public static var statusNotFinal: Self { Self(.statusNotFinal) }
    /// The status code must be understood to be stored, and this cache does not store it. (RFC 9111 §3)
    public static var statusNotUnderstood: Self { Self(.statusNotUnderstood) }
    /// The status code is not cacheable by default, and no field of the response makes it so. (RFC 9111 §3)
    public static var notDeclaredCacheable: Self { Self(.notDeclaredCacheable) }
    /// The content did not arrive whole. (RFC 9111 §3.3)
    public static var incompleteContent: Self { Self(.incompleteContent) }
    /// The response is partial, and does not say plainly which bytes of the content it carries. (RFC 9110 §14.4)
    public static var partNotPlaced: Self { Self(.partNotPlaced) }
    /// The response is partial, and more is stored that it cannot be combined with. (RFC 9111 §3.4)
    public static var partNotCombined: Self { Self(.partNotCombined) }
    /// The response is partial, and its bytes are stored already. (RFC 9111 §3.4)
    public static var partAlreadyStored: Self { Self(.partAlreadyStored) }
    /// The application refused to have the response stored. (Policy)
    public static var refusedByApplication: Self { Self(.refusedByApplication) }
    /// The response is larger than the configured maximum for one response. (Store)
    public static var tooLarge: Self { Self(.tooLarge) }
    /// The memory for content in flight is full, and the response would have to wait there. (Store)
    public static var transitFull: Self { Self(.transitFull) }
    /// The resource was invalidated or removed while its response was on its way. (RFC 9111 §4.4)
    public static var removedMeanwhile: Self { Self(.removedMeanwhile) }
    /// A more recent response was stored while this one was on its way. (RFC 9111 §4)
    public static var overtaken: Self { Self(.overtaken) }
    /// The store could not keep the response. (Store)
    public static var storeFailed: Self { Self(.storeFailed) }
    /// The response is larger than the memory limit. (Store)
    public static var tooLargeForMemory: Self { Self(.tooLargeForMemory) }
    /// The response is larger than the disk limit for one response. (Store)
    public static var tooLargeForDisk: Self { Self(.tooLargeForDisk) }
    /// Neither memory nor disk has a capacity to store responses in. (Store)
    public static var noCapacity: Self { Self(.noCapacity) }
    /// The responses that fill the store are being written, so no room could be made. (Store)
    public static var storeBusy: Self { Self(.storeBusy) }
    /// The disk fails, and memory could not keep the response. (Store)
    public static var diskFailing: Self { Self(.diskFailing) }
    /// The store is closed. (Store)
    public static var storeClosed: Self { Self(.storeClosed) }

    // What became of stored responses.
    /// The stored response was updated from the origin's 304 response. (RFC 9111 §4.3.4)
    public static var freshened: Self { Self(.freshened) }
    /// The origin's 304 response chose a stored response for this request, and it is stored for such requests from
    /// now on. (RFC 9111 §4.1)
    public static var variantLearned: Self { Self(.variantLearned) }
    /// The stored response was updated from a HEAD response. (RFC 9111 §4.3.5)
    public static var freshenedByHead: Self { Self(.freshenedByHead) }
    /// The stored response was updated from another part of the same representation. (RFC 9111 §3.4)
    public static var freshenedByPart: Self { Self(.freshenedByPart) }
    /// A HEAD response shows that the stored response is out of date. (RFC 9111 §4.3.5)
    public static var outdatedByHead: Self { Self(.outdatedByHead) }
    /// An unsafe method succeeded, so stored responses of its target are invalid. (RFC 9111 §4.4)
    public static var invalidatedByUnsafeMethod: Self { Self(.invalidatedByUnsafeMethod) }
    /// The response to an unsafe method says that stored responses of a group are invalid. (RFC 9875 §3)
    public static var invalidatedByGroup: Self { Self(.invalidatedByGroup) }
    /// A stored response was invalidated, and with it those that share a group with it. (RFC 9875 §2.2.1)
    public static var invalidatedWithGroup: Self { Self(.invalidatedWithGroup) }
    /// The response asks for everything that is stored of its origin to be removed. (Clear-Site-Data)
    public static var clearedByOrigin: Self { Self(.clearedByOrigin) }

    /// The RFC and section that the decision rests on, or another standard's name; "Policy" or "Store" where it is no
    /// standard's.
    public var section: String { text.section }

    /// One plain sentence.
    public var sentence: String { text.sentence }

    private var text: (section: String, sentence: String) {
      switch code {
      case .fresh: ("RFC 9111 §4.2", "The stored response is fresh.")
      case .freshByHeuristic:
        ("RFC 9111 §4.2.2", "The stored response is fresh by a heuristic from its Last-Modified date.")
      case .immutable:
        ("RFC 8246 §2", "The stored response is immutable: while it is fresh, a reload need not ask for it.")
      case .validated: ("RFC 9111 §4.3.3", "The origin validated the stored response.")
      case .staleAllowedByRequest:
        ("RFC 9111 §5.2.1.2", "The stored response is stale, and the request's max-stale accepts it.")
      case .staleWhileRevalidate:
        ("RFC 5861 §3", "The stored response is stale, and may be used while it is validated behind.")
      case .staleIfError:
        ("RFC 5861 §4", "The origin failed, and the stored response may be used stale in that case.")
      case .staleWhileDisconnected:
        ("RFC 9111 §4.2.4", "The origin cannot be reached, and the cache is set to serve stale then.")
      case .forbiddenWhileDisconnected:
        (
          "RFC 9111 §4.2.4",
          "The origin cannot be reached; a directive forbids the stored response, and the user's override serves it."
        )
      case .policyReturnsStored:
        ("Policy", "The request's cache policy takes a stored response whatever its age.")

      case .nothingStored: ("RFC 9111 §4", "Nothing is stored for this URI.")
      case .noVariantMatches:
        ("RFC 9111 §4.1", "Responses are stored for this URI, but their Vary fields match another request.")
      case .stale: ("RFC 9111 §4.2", "The stored response is stale.")
      case .staleMustRevalidate:
        ("RFC 9111 §5.2.2.2", "The stored response is stale and must be validated before it is used again.")
      case .noLifetime:
        ("RFC 9111 §4.2.1", "The stored response says nothing from which a freshness lifetime could be had.")
      case .storedNoCache:
        ("RFC 9111 §5.2.2.4", "The stored response carries no-cache: it is validated before every use.")
      case .storedInvalidated:
        ("RFC 9111 §4.4", "The stored response was marked invalid and must be validated first.")
      case .storedInTheFuture:
        ("RFC 9111 §4.2.3", "The clock is behind the time of storing, so the age is not known.")
      case .requestNoCache:
        ("RFC 9111 §5.2.1.4", "The request carries no-cache: the stored response is validated first.")
      case .requestMaxAge:
        ("RFC 9111 §5.2.1.1", "The stored response is older than the request's max-age accepts.")
      case .requestMinFresh:
        (
          "RFC 9111 §5.2.1.3",
          "The stored response does not stay fresh as long as the request's min-fresh asks."
        )
      case .originPrecondition:
        ("RFC 9111 §4.3.2", "The request carries a precondition that only the origin may evaluate.")
      case .methodNotCacheable:
        ("RFC 9111 §3", "Responses to this method are not taken from the cache.")
      case .queryNotKeyed:
        (
          "QUERY draft",
          "The content of the QUERY request is too long, or of unknown length, to be part of a key."
        )
      case .requestContent:
        (
          "RFC 9110 §9.3.1",
          "The request has content, which has no meaning with this method, but may have had one for the origin."
        )
      case .unsafeMethod:
        ("RFC 9111 §4", "The method is unsafe, and is written through to the origin.")
      case .targetNotCacheable:
        ("RFC 9111 §2", "The request has no complete target URI to store a response under.")
      case .policyIgnoresStored:
        ("Policy", "The request's cache policy does not look at stored responses.")
      case .policyRevalidates:
        ("Policy", "The request's cache policy has the origin validate a stored response first.")
      case .validationUnusable:
        (
          "RFC 9111 §4.3.4",
          "The 304 response identifies no stored response, so the request is repeated in full."
        )

      case .contentIncomplete:
        ("RFC 9111 §3.3", "Only a part of the content is stored, and the request asks for more than that.")
      case .completionUnusable:
        (
          "RFC 9111 §3.4",
          "The answer does not complete the stored content, so the request is repeated in full."
        )

      case .onlyIfCached:
        ("RFC 9111 §5.2.1.7", "The request carries only-if-cached, and nothing stored can answer it.")
      case .policyForbidsNetwork:
        ("Policy", "The request's cache policy forbids the network, and nothing stored can answer it.")
      case .originUnreachable:
        ("RFC 9111 §4.2.4", "The origin cannot be reached, and nothing stored may be used in its place.")
      case .revalidationImpossible:
        (
          "RFC 9111 §5.2.2.2",
          "The stored response is stale and must be revalidated before use, and the origin cannot be reached."
        )

      case .fromOrigin: ("RFC 9111 §4", "The response comes from the origin.")
      case .replacedByOrigin:
        (
          "RFC 9111 §4.3.3",
          "The origin answered the validation with a full response, which replaces the stored one."
        )
      case .completedByOrigin:
        ("RFC 9111 §3.4", "The origin sent what was missing of the stored content.")

      case .storedWithLifetime: ("RFC 9111 §3", "Stored, with a freshness lifetime that the origin gave.")
      case .storedWithHeuristic:
        ("RFC 9111 §4.2.2", "Stored, with a heuristic freshness lifetime from its Last-Modified date.")
      case .storedWithoutLifetime:
        ("RFC 9111 §4.2.1", "Stored without a freshness lifetime: it is validated before it is used.")
      case .storedAsPart:
        ("RFC 9111 §3.3", "Stored as a part of the content, for requests of ranges within it.")
      case .storedCombined:
        ("RFC 9111 §3.4", "Stored together with other parts of the same representation.")

      case .responseNoStore: ("RFC 9111 §5.2.2.5", "The response carries no-store.")
      case .requestNoStore: ("RFC 9111 §5.2.1.5", "The request carries no-store.")
      case .privateInSharedCache:
        ("RFC 9111 §5.2.2.7", "The response is private, and this cache is shared.")
      case .authorizedInSharedCache:
        (
          "RFC 9111 §3.5",
          "The request carried Authorization, and the response does not allow a shared cache to store it."
        )
      case .cookiesNotShared:
        (
          "RFC 9111 §7.3",
          "The response carries Set-Cookie, and nothing in it declares that a shared cache's users may share it."
        )
      case .cookiesBypassed:
        ("Policy", "The response carries Set-Cookie, and this shared cache stores none that do.")
      case .methodNotStored: ("RFC 9111 §3", "Responses to this method are not stored.")
      case .statusNotFinal: ("RFC 9110 §15", "The status code is not that of a final response.")
      case .statusNotUnderstood:
        ("RFC 9111 §3", "The status code must be understood to be stored, and this cache does not store it.")
      case .notDeclaredCacheable:
        (
          "RFC 9111 §3",
          "The status code is not cacheable by default, and no field of the response makes it so."
        )
      case .incompleteContent: ("RFC 9111 §3.3", "The content did not arrive whole.")
      case .partNotPlaced:
        (
          "RFC 9110 §14.4",
          "The response is partial, and does not say plainly which bytes of the content it carries."
        )
      case .partNotCombined:
        ("RFC 9111 §3.4", "The response is partial, and more is stored that it cannot be combined with.")
      case .partAlreadyStored:
        ("RFC 9111 §3.4", "The response is partial, and its bytes are stored already.")
      case .refusedByApplication: ("Policy", "The application refused to have the response stored.")
      case .tooLarge: ("Store", "The response is larger than the configured maximum for one response.")
      case .transitFull:
        ("Store", "The memory for content in flight is full, and the response would have to wait there.")
      case .removedMeanwhile:
        ("RFC 9111 §4.4", "The resource was invalidated or removed while its response was on its way.")
      case .overtaken:
        ("RFC 9111 §4", "A more recent response was stored while this one was on its way.")
      case .storeFailed: ("Store", "The store could not keep the response.")

      case .freshened: ("RFC 9111 §4.3.4", "The stored response was updated from the origin's 304 response.")
      case .variantLearned:
        (
          "RFC 9111 §4.1",
          "The origin's 304 response chose a stored response for this request, and it is stored for such requests from now on."
        )
      case .freshenedByHead: ("RFC 9111 §4.3.5", "The stored response was updated from a HEAD response.")
      case .freshenedByPart:
        ("RFC 9111 §3.4", "The stored response was updated from another part of the same representation.")
      case .outdatedByHead:
        ("RFC 9111 §4.3.5", "A HEAD response shows that the stored response is out of date.")
      case .invalidatedByUnsafeMethod:
        ("RFC 9111 §4.4", "An unsafe method succeeded, so stored responses of its target are invalid.")
      case .invalidatedByGroup:
        ("RFC 9875 §3", "The response to an unsafe method says that stored responses of a group are invalid.")
      case .invalidatedWithGroup:
        (
          "RFC 9875 §2.2.1",
          "A stored response was invalidated, and with it those that share a group with it."
        )
      case .clearedByOrigin:
        ("Clear-Site-Data", "The response asks for everything that is stored of its origin to be removed.")

      case .storedNeverReused:
        (
          "RFC 9111 §4.1",
          "Stored, but it will never be reused: it carries Vary: *, which no request matches."
        )
      case .tooLargeForMemory: ("Store", "The response is larger than the memory limit.")
      case .tooLargeForDisk: ("Store", "The response is larger than the disk limit for one response.")
      case .noCapacity: ("Store", "Neither memory nor disk has a capacity to store responses in.")
      case .storeBusy:
        ("Store", "The responses that fill the store are being written, so no room could be made.")
      case .diskFailing: ("Store", "The disk fails, and memory could not keep the response.")
      case .storeClosed: ("Store", "The store is closed.")
      }
    }
  }
}

extension CacheEngine.Reason: CustomStringConvertible {
  public var description: String { "\(sentence) (\(section))" }
}
