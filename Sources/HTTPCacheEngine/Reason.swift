// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheEngine {
  /// Why the engine decided as it did: a code, a section of a standard, and one sentence.
  ///
  /// Logs, metrics, `Cache-Status` and `httpcache explain` all use it, so they agree. The code is the name of the case, and
  /// the raw value. It is an open set: a `switch` needs a `default`.
  #if hasAttribute(nonexhaustive)
    @nonexhaustive
  #endif
  public enum Reason: String, Sendable, CaseIterable {
    // Served from the store.
    /// The stored response is fresh. (RFC 9111 §4.2)
    case fresh
    /// The stored response is fresh by a heuristic from its Last-Modified date. (RFC 9111 §4.2.2)
    case freshByHeuristic
    /// The stored response is fresh, because the application set its lifetime. (Application)
    case freshByApplication
    /// The stored response is fresh, because a rule set its lifetime. (Rule)
    case freshByRule
    /// The stored response is fresh, and what the request requires beyond that is ignored, or was met by another request.
    /// (RFC 9111 §5.2.1)
    case freshDespiteReload
    /// The stored response is fresh and immutable, so a reload does not revalidate it. (RFC 8246 §2)
    case immutable
    /// The origin validated the stored response. (RFC 9111 §4.3.3)
    case validated
    /// The origin validated the stored response: its strong entity tag is the stored weak one without W/. (RFC 9111
    /// §4.3.4)
    case validatedByStrongTag
    /// The stored response is stale, and the request's max-stale accepts it. (RFC 9111 §5.2.1.2)
    case staleAllowedByRequest
    /// The stored response is stale; it may be used while it is revalidated in the background. (RFC 5861 §3)
    case staleWhileRevalidate
    /// The stored response is stale; a rule permits its use while it is revalidated in the background. (Rule)
    case staleByRule
    /// The origin failed, and stale-if-error permits the stored response. (RFC 5861 §4)
    case staleIfError
    /// The origin failed, and a rule permits the stored response. (Rule)
    case staleIfErrorByRule
    /// The origin cannot be reached, and the cache is configured to serve stale responses then. (RFC 9111 §4.2.4)
    case staleWhileDisconnected
    /// The origin cannot be reached; the configuration overrides a directive that forbids the stored response. (RFC
    /// 9111 §4.2.4)
    case forbiddenWhileDisconnected
    /// The request's cache policy accepts a stored response of any age. (Policy)
    case policyReturnsStored

    // Sent on to the origin.
    /// Nothing is stored for this URI. (RFC 9111 §4)
    case nothingStored
    /// Responses are stored for this URI, but the request does not match their Vary fields. (RFC 9111 §4.1)
    case noVariantMatches
    /// The stored response is stale. (RFC 9111 §4.2)
    case stale
    /// The stored response is stale and must be revalidated before use. (RFC 9111 §5.2.2.2)
    case staleMustRevalidate
    /// The stored response had no freshness lifetime: neither explicit, nor a heuristic one of a second or more. (RFC 9111
    /// §4.2.1)
    case noLifetime
    /// The stored response carries no-cache: it is revalidated before every use. (RFC 9111 §5.2.2.4)
    case storedNoCache
    /// The stored response was invalidated and must be revalidated before use. (RFC 9111 §4.4)
    case storedInvalidated
    /// The cache cannot tell whether another node has removed the stored response: it is revalidated first. (Shared tier)
    case storedUnconfirmed
    /// The clock is earlier than the time of storing, so the age is unknown. (RFC 9111 §4.2.3)
    case storedInTheFuture
    /// The request carries no-cache: the stored response is revalidated first. (RFC 9111 §5.2.1.4)
    case requestNoCache
    /// The stored response is older than the request's max-age permits. (RFC 9111 §5.2.1.1)
    case requestMaxAge
    /// The stored response does not stay fresh for as long as the request's min-fresh requires. (RFC 9111 §5.2.1.3)
    case requestMinFresh
    /// The request carries a precondition that only the origin may evaluate. (RFC 9111 §4.3.2)
    case originPrecondition
    /// The cache does not answer requests with this method. (RFC 9111 §3)
    case methodNotCacheable
    /// The content of the QUERY request is too long for a key, or its length is unknown. (QUERY draft)
    case queryNotKeyed
    /// The request has content, which this method does not define but the origin may use. (RFC 9110 §9.3.1)
    case requestContent
    /// The method is unsafe, so the request is written through to the origin. (RFC 9111 §4)
    case unsafeMethod
    /// The target URI is incomplete, or servers read it in several ways, so the request has no cache key. (RFC 9111 §2)
    case targetNotCacheable
    /// A rule excludes the request from the cache. (Rule)
    case bypassedByRule
    /// The request's cache policy ignores stored responses. (Policy)
    case policyIgnoresStored
    /// The request's cache policy requires that the stored response is revalidated first. (Policy)
    case policyRevalidates
    /// The 304 response matches no stored response, so the request is repeated without conditions. (RFC 9111 §4.3.4)
    case validationUnusable
    /// Only a part of the content is stored, and the request needs more. (RFC 9111 §3.3)
    case contentIncomplete
    /// The origin's response does not complete the stored content, so the request is repeated in full. (RFC 9111 §3.4)
    case completionUnusable

    // Not answered at all.
    /// The request carries only-if-cached, and no stored response can answer it. (RFC 9111 §5.2.1.7)
    case onlyIfCached
    /// The request's cache policy forbids the network, and no stored response can answer it. (Policy)
    case policyForbidsNetwork
    /// The origin cannot be reached, and no stored response may be used instead. (RFC 9111 §4.2.4)
    case originUnreachable
    /// The stored response is stale and must be revalidated before use, and the origin cannot be reached. (RFC 9111
    /// §5.2.2.2)
    case revalidationImpossible
    /// The origin answered 304 to a request without a condition. (RFC 9110 §15.4.5)
    case unsolicitedNotModified

    // Answered by the origin.
    /// The response comes from the origin. (RFC 9111 §4)
    case fromOrigin
    /// The origin answered the revalidation with a full response, which replaces the stored one. (RFC 9111 §4.3.3)
    case replacedByOrigin
    /// The origin sent the missing part of the stored content. (RFC 9111 §3.4)
    case completedByOrigin

    // Stored.
    /// Stored, with a freshness lifetime that the origin gave. (RFC 9111 §3)
    case storedWithLifetime
    /// Stored, with a heuristic freshness lifetime from its Last-Modified date. (RFC 9111 §4.2.2)
    case storedWithHeuristic
    /// Stored, with a freshness lifetime that the application set. (Application)
    case storedByApplication
    /// Stored, with a freshness lifetime that a rule set. (Rule)
    case storedByRule
    /// Stored without a freshness lifetime: every use needs a request to the origin. (RFC 9111 §4.2.1)
    case storedWithoutLifetime
    /// Stored as a part of the content, for requests of ranges within that part. (RFC 9111 §3.3)
    case storedAsPart
    /// Stored together with other parts of the same representation. (RFC 9111 §3.4)
    case storedCombined
    /// Stored, but it will never be reused: it carries Vary: *, which matches no request. (RFC 9111 §4.1)
    case storedNeverReused

    // Not stored.
    /// A rule excludes the response from the cache. (Rule)
    case refusedByRule
    /// The response carries no-store. (RFC 9111 §5.2.2.5)
    case responseNoStore
    /// The request carries no-store. (RFC 9111 §5.2.1.5)
    case requestNoStore
    /// The response is private, and this cache is shared. (RFC 9111 §5.2.2.7)
    case privateInSharedCache
    /// The request carried Authorization, and the response does not permit a shared cache to store it. (RFC 9111 §3.5)
    case authorizedInSharedCache
    /// The response carries Set-Cookie, and the origin does not declare it shareable. (RFC 9111 §7.3)
    case cookiesNotShared
    /// The response carries Set-Cookie, and this shared cache is configured not to store such responses. (Policy)
    case cookiesBypassed
    /// Responses to this method are not stored. (RFC 9111 §3)
    case methodNotStored
    /// The status code is not that of a final response. (RFC 9110 §15)
    case statusNotFinal
    /// This cache does not store responses with this status code. (RFC 9111 §3)
    case statusNotUnderstood
    /// The status code is not cacheable by default, and no field of the response makes it cacheable. (RFC 9111 §3)
    case notDeclaredCacheable
    /// The content arrived incomplete. (RFC 9111 §3.3)
    case incompleteContent
    /// The response is partial, and does not state clearly which bytes of the content it carries. (RFC 9110 §14.4)
    case partNotPlaced
    /// The response is partial, and cannot be combined with the stored response. (RFC 9111 §3.4)
    case partNotCombined
    /// The response is partial, and its bytes are already stored. (RFC 9111 §3.4)
    case partAlreadyStored
    /// The application declined to store the response. (Policy)
    case refusedByApplication
    /// The response is larger than the configured maximum for one response. (Store)
    case tooLarge
    /// The memory for content in flight is full, so the response is delivered without being stored. (Store)
    case transitFull
    /// The resource was invalidated or removed while its response was in flight. (RFC 9111 §4.4)
    case removedMeanwhile
    /// A more recent response was stored while this one was in flight. (RFC 9111 §4)
    case overtaken
    /// The store failed to keep the response. (Store)
    case storeFailed
    /// The response is larger than the memory limit. (Store)
    case tooLargeForMemory
    /// The response is larger than the disk limit for one response. (Store)
    case tooLargeForDisk
    /// The cache has no capacity, neither in memory nor on disk. (Store)
    case noCapacity
    /// Only memory, or only the disk, may hold the response, and that one has no capacity. (Store)
    case tierWithoutCapacity
    /// The directory for the disk could not be opened, and memory has no capacity. (Store)
    case diskUnavailable
    /// The store is full of responses that are still being written, so it cannot make room. (Store)
    case storeBusy
    /// The disk fails, and the response could not be kept in memory. (Store)
    case diskFailing
    /// The store is closed. (Store)
    case storeClosed
    /// The response has more tags than are kept, so it could not be purged by all of them. (Policy)
    case tooManyTags
    /// The response is not an HTTP response: it has neither a status code nor fields. (RFC 9111 §3)
    case responseNotHTTP

    // What became of stored responses.
    /// The stored response was updated from the origin's 304 response. (RFC 9111 §4.3.4)
    case freshened
    /// The stored response was updated from a HEAD response. (RFC 9111 §4.3.5)
    case freshenedByHead
    /// The stored response was updated from another part of the same representation. (RFC 9111 §3.4)
    case freshenedByPart
    /// A HEAD response shows that the stored response is outdated. (RFC 9111 §4.3.5)
    case outdatedByHead
    /// An unsafe method succeeded, so the stored responses of its target are invalid. (RFC 9111 §4.4)
    case invalidatedByUnsafeMethod
    /// The response to an unsafe method invalidates a group of stored responses. (RFC 9875 §3)
    case invalidatedByGroup
    /// A stored response was invalidated, and with it the other responses of its groups. (RFC 9875 §2.2.1)
    case invalidatedWithGroup
    /// The response asks the cache to remove everything that is stored for its origin. (Clear-Site-Data)
    case clearedByOrigin
  }
}

extension CacheEngine.Reason: CustomStringConvertible {
  /// The RFC and section that the decision rests on, or another standard's name; "Policy", "Application", "Rule" or "Store"
  /// where it is no standard's.
  public var section: String { row.section }

  /// One plain sentence.
  public var sentence: String { row.sentence }

  public var description: String { "\(sentence) (\(section))" }

  /// The value of `fwd` in `Cache-Status` for this reason; `nil` if it is not a reason for a request to the origin.
  package var forward: CacheStatus.Forward? { row.forward }

  /// Whether the origin has validated the stored response that is served.
  package var isValidation: Bool { self == .validated || self == .validatedByStrongTag }

  /// The table of all reasons, one line each. It is inlined, so that `forward` reads a table of bytes.
  // swift-format-ignore
  @inline(__always)
  private var row: (section: String, forward: CacheStatus.Forward?, sentence: String) {
    switch self {
    case .fresh: ("RFC 9111 §4.2", nil, "The stored response is fresh.")
    case .freshByHeuristic: ("RFC 9111 §4.2.2", nil, "The stored response is fresh by a heuristic from its Last-Modified date.")
    case .freshByApplication: ("Application", nil, "The stored response is fresh, because the application set its lifetime.")
    case .freshByRule: ("Rule", nil, "The stored response is fresh, because a rule set its lifetime.")
    case .freshDespiteReload: ("RFC 9111 §5.2.1", nil, "The stored response is fresh, and what the request requires beyond that is ignored, or was met by another request.")
    case .immutable: ("RFC 8246 §2", nil, "The stored response is fresh and immutable, so a reload does not revalidate it.")
    case .validated: ("RFC 9111 §4.3.3", nil, "The origin validated the stored response.")
    case .validatedByStrongTag: ("RFC 9111 §4.3.4", nil, "The origin validated the stored response: its strong entity tag is the stored weak one without W/.")
    case .staleAllowedByRequest: ("RFC 9111 §5.2.1.2", nil, "The stored response is stale, and the request's max-stale accepts it.")
    case .staleWhileRevalidate: ("RFC 5861 §3", .stale, "The stored response is stale; it may be used while it is revalidated in the background.")
    case .staleByRule: ("Rule", .stale, "The stored response is stale; a rule permits its use while it is revalidated in the background.")
    case .staleIfErrorByRule: ("Rule", nil, "The origin failed, and a rule permits the stored response.")
    case .staleIfError: ("RFC 5861 §4", nil, "The origin failed, and stale-if-error permits the stored response.")
    case .staleWhileDisconnected: ("RFC 9111 §4.2.4", nil, "The origin cannot be reached, and the cache is configured to serve stale responses then.")
    case .forbiddenWhileDisconnected: ("RFC 9111 §4.2.4", nil, "The origin cannot be reached; the configuration overrides a directive that forbids the stored response.")
    case .policyReturnsStored: ("Policy", nil, "The request's cache policy accepts a stored response of any age.")

    case .nothingStored: ("RFC 9111 §4", .uriMiss, "Nothing is stored for this URI.")
    case .noVariantMatches: ("RFC 9111 §4.1", .varyMiss, "Responses are stored for this URI, but the request does not match their Vary fields.")
    case .stale: ("RFC 9111 §4.2", .stale, "The stored response is stale.")
    case .staleMustRevalidate: ("RFC 9111 §5.2.2.2", .stale, "The stored response is stale and must be revalidated before use.")
    case .noLifetime: ("RFC 9111 §4.2.1", .stale, "The stored response had no freshness lifetime: neither explicit, nor a heuristic one of a second or more.")
    case .storedNoCache: ("RFC 9111 §5.2.2.4", .stale, "The stored response carries no-cache: it is revalidated before every use.")
    case .storedInvalidated: ("RFC 9111 §4.4", .stale, "The stored response was invalidated and must be revalidated before use.")
    case .storedUnconfirmed: ("Shared tier", .stale, "The cache cannot tell whether another node has removed the stored response: it is revalidated first.")
    case .storedInTheFuture: ("RFC 9111 §4.2.3", .stale, "The clock is earlier than the time of storing, so the age is unknown.")
    case .requestNoCache: ("RFC 9111 §5.2.1.4", .request, "The request carries no-cache: the stored response is revalidated first.")
    case .requestMaxAge: ("RFC 9111 §5.2.1.1", .request, "The stored response is older than the request's max-age permits.")
    case .requestMinFresh: ("RFC 9111 §5.2.1.3", .request, "The stored response does not stay fresh for as long as the request's min-fresh requires.")
    case .originPrecondition: ("RFC 9111 §4.3.2", .bypass, "The request carries a precondition that only the origin may evaluate.")
    case .methodNotCacheable: ("RFC 9111 §3", .method, "The cache does not answer requests with this method.")
    case .queryNotKeyed: ("QUERY draft", .bypass, "The content of the QUERY request is too long for a key, or its length is unknown.")
    case .requestContent: ("RFC 9110 §9.3.1", .bypass, "The request has content, which this method does not define but the origin may use.")
    case .unsafeMethod: ("RFC 9111 §4", .method, "The method is unsafe, so the request is written through to the origin.")
    case .targetNotCacheable: ("RFC 9111 §2", .bypass, "The target URI is incomplete, or servers read it in several ways, so the request has no cache key.")
    case .bypassedByRule: ("Rule", .bypass, "A rule excludes the request from the cache.")
    case .policyIgnoresStored: ("Policy", .bypass, "The request's cache policy ignores stored responses.")
    case .policyRevalidates: ("Policy", .request, "The request's cache policy requires that the stored response is revalidated first.")
    case .validationUnusable: ("RFC 9111 §4.3.4", .stale, "The 304 response matches no stored response, so the request is repeated without conditions.")
    case .contentIncomplete: ("RFC 9111 §3.3", .partial, "Only a part of the content is stored, and the request needs more.")
    case .completionUnusable: ("RFC 9111 §3.4", .partial, "The origin's response does not complete the stored content, so the request is repeated in full.")

    case .onlyIfCached: ("RFC 9111 §5.2.1.7", nil, "The request carries only-if-cached, and no stored response can answer it.")
    case .policyForbidsNetwork: ("Policy", nil, "The request's cache policy forbids the network, and no stored response can answer it.")
    case .originUnreachable: ("RFC 9111 §4.2.4", nil, "The origin cannot be reached, and no stored response may be used instead.")
    case .revalidationImpossible: ("RFC 9111 §5.2.2.2", nil, "The stored response is stale and must be revalidated before use, and the origin cannot be reached.")
    case .unsolicitedNotModified: ("RFC 9110 §15.4.5", nil, "The origin answered 304 to a request without a condition.")

    case .fromOrigin: ("RFC 9111 §4", nil, "The response comes from the origin.")
    case .replacedByOrigin: ("RFC 9111 §4.3.3", nil, "The origin answered the revalidation with a full response, which replaces the stored one.")
    case .completedByOrigin: ("RFC 9111 §3.4", nil, "The origin sent the missing part of the stored content.")

    case .storedWithLifetime: ("RFC 9111 §3", nil, "Stored, with a freshness lifetime that the origin gave.")
    case .storedWithHeuristic: ("RFC 9111 §4.2.2", nil, "Stored, with a heuristic freshness lifetime from its Last-Modified date.")
    case .storedByApplication: ("Application", nil, "Stored, with a freshness lifetime that the application set.")
    case .storedByRule: ("Rule", nil, "Stored, with a freshness lifetime that a rule set.")
    case .storedWithoutLifetime: ("RFC 9111 §4.2.1", nil, "Stored without a freshness lifetime: every use needs a request to the origin.")
    case .storedAsPart: ("RFC 9111 §3.3", nil, "Stored as a part of the content, for requests of ranges within that part.")
    case .storedCombined: ("RFC 9111 §3.4", nil, "Stored together with other parts of the same representation.")
    case .storedNeverReused: ("RFC 9111 §4.1", nil, "Stored, but it will never be reused: it carries Vary: *, which matches no request.")

    case .refusedByRule: ("Rule", nil, "A rule excludes the response from the cache.")
    case .responseNoStore: ("RFC 9111 §5.2.2.5", nil, "The response carries no-store.")
    case .requestNoStore: ("RFC 9111 §5.2.1.5", nil, "The request carries no-store.")
    case .privateInSharedCache: ("RFC 9111 §5.2.2.7", nil, "The response is private, and this cache is shared.")
    case .authorizedInSharedCache: ("RFC 9111 §3.5", nil, "The request carried Authorization, and the response does not permit a shared cache to store it.")
    case .cookiesNotShared: ("RFC 9111 §7.3", nil, "The response carries Set-Cookie, and the origin does not declare it shareable.")
    case .cookiesBypassed: ("Policy", nil, "The response carries Set-Cookie, and this shared cache is configured not to store such responses.")
    case .methodNotStored: ("RFC 9111 §3", nil, "Responses to this method are not stored.")
    case .statusNotFinal: ("RFC 9110 §15", nil, "The status code is not that of a final response.")
    case .statusNotUnderstood: ("RFC 9111 §3", nil, "This cache does not store responses with this status code.")
    case .notDeclaredCacheable: ("RFC 9111 §3", nil, "The status code is not cacheable by default, and no field of the response makes it cacheable.")
    case .incompleteContent: ("RFC 9111 §3.3", nil, "The content arrived incomplete.")
    case .partNotPlaced: ("RFC 9110 §14.4", nil, "The response is partial, and does not state clearly which bytes of the content it carries.")
    case .partNotCombined: ("RFC 9111 §3.4", nil, "The response is partial, and cannot be combined with the stored response.")
    case .partAlreadyStored: ("RFC 9111 §3.4", nil, "The response is partial, and its bytes are already stored.")
    case .refusedByApplication: ("Policy", nil, "The application declined to store the response.")
    case .tooLarge: ("Store", nil, "The response is larger than the configured maximum for one response.")
    case .transitFull: ("Store", nil, "The memory for content in flight is full, so the response is delivered without being stored.")
    case .removedMeanwhile: ("RFC 9111 §4.4", nil, "The resource was invalidated or removed while its response was in flight.")
    case .overtaken: ("RFC 9111 §4", nil, "A more recent response was stored while this one was in flight.")
    case .storeFailed: ("Store", nil, "The store failed to keep the response.")
    case .tooLargeForMemory: ("Store", nil, "The response is larger than the memory limit.")
    case .tooLargeForDisk: ("Store", nil, "The response is larger than the disk limit for one response.")
    case .noCapacity: ("Store", nil, "The cache has no capacity, neither in memory nor on disk.")
    case .tierWithoutCapacity: ("Store", nil, "Only memory, or only the disk, may hold the response, and that one has no capacity.")
    case .diskUnavailable: ("Store", nil, "The directory for the disk could not be opened, and memory has no capacity.")
    case .storeBusy: ("Store", nil, "The store is full of responses that are still being written, so it cannot make room.")
    case .diskFailing: ("Store", nil, "The disk fails, and the response could not be kept in memory.")
    case .storeClosed: ("Store", nil, "The store is closed.")
    case .tooManyTags: ("Policy", nil, "The response has more tags than are kept, so it could not be purged by all of them.")
    case .responseNotHTTP: ("RFC 9111 §3", nil, "The response is not an HTTP response: it has neither a status code nor fields.")

    case .freshened: ("RFC 9111 §4.3.4", nil, "The stored response was updated from the origin's 304 response.")
    case .freshenedByHead: ("RFC 9111 §4.3.5", nil, "The stored response was updated from a HEAD response.")
    case .freshenedByPart: ("RFC 9111 §3.4", nil, "The stored response was updated from another part of the same representation.")
    case .outdatedByHead: ("RFC 9111 §4.3.5", nil, "A HEAD response shows that the stored response is outdated.")
    case .invalidatedByUnsafeMethod: ("RFC 9111 §4.4", nil, "An unsafe method succeeded, so the stored responses of its target are invalid.")
    case .invalidatedByGroup: ("RFC 9875 §3", nil, "The response to an unsafe method invalidates a group of stored responses.")
    case .invalidatedWithGroup: ("RFC 9875 §2.2.1", nil, "A stored response was invalidated, and with it the other responses of its groups.")
    case .clearedByOrigin: ("Clear-Site-Data", nil, "The response asks the cache to remove everything that is stored for its origin.")
    }
  }
}
