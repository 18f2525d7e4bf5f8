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
      case fresh, freshByHeuristic, freshByApplication, immutable, validated, validatedByStrongTag,
        staleAllowedByRequest, staleWhileRevalidate,
        staleIfError, staleWhileDisconnected, forbiddenWhileDisconnected, policyReturnsStored
      // Sent on to the origin.
      case nothingStored, noVariantMatches, stale, staleMustRevalidate, noLifetime, storedNoCache,
        storedInvalidated, storedUnconfirmed, storedInTheFuture, requestNoCache, requestMaxAge,
        requestMinFresh,
        originPrecondition, methodNotCacheable, queryNotKeyed, requestContent, unsafeMethod,
        targetNotCacheable, policyIgnoresStored, policyRevalidates, validationUnusable,
        contentIncomplete, completionUnusable
      // Not answered at all.
      case onlyIfCached, policyForbidsNetwork, originUnreachable, revalidationImpossible,
        unsolicitedNotModified
      // Answered by the origin.
      case fromOrigin, replacedByOrigin, completedByOrigin
      // Stored.
      case storedWithLifetime, storedWithHeuristic, storedByApplication, storedWithoutLifetime, storedAsPart,
        storedCombined, storedNeverReused
      // Not stored.
      case responseNoStore, requestNoStore, privateInSharedCache, authorizedInSharedCache, cookiesNotShared,
        cookiesBypassed, methodNotStored, statusNotFinal, statusNotUnderstood, notDeclaredCacheable,
        incompleteContent, partNotPlaced, partNotCombined, partAlreadyStored, refusedByApplication,
        tooLarge, transitFull, removedMeanwhile, overtaken, storeFailed, tooLargeForMemory,
        tooLargeForDisk, noCapacity, tierWithoutCapacity, diskUnavailable, storeBusy, diskFailing,
        storeClosed,
        responseNotHTTP
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
    /// The stored response is fresh, because the application set its lifetime. (Application)
    public static var freshByApplication: Self { Self(.freshByApplication) }
    /// The stored response is fresh and immutable, so a reload does not revalidate it. (RFC 8246 §2)
    public static var immutable: Self { Self(.immutable) }
    /// The origin validated the stored response. (RFC 9111 §4.3.3)
    public static var validated: Self { Self(.validated) }
    /// The origin validated the stored response: its strong entity tag is the stored weak one without W/. (RFC 9111
    /// §4.3.4)
    public static var validatedByStrongTag: Self { Self(.validatedByStrongTag) }
    /// The stored response is stale, and the request's max-stale accepts it. (RFC 9111 §5.2.1.2)
    public static var staleAllowedByRequest: Self { Self(.staleAllowedByRequest) }
    /// The stored response is stale; it may be used while it is revalidated in the background. (RFC 5861 §3)
    public static var staleWhileRevalidate: Self { Self(.staleWhileRevalidate) }
    /// The origin failed, and stale-if-error permits the stored response. (RFC 5861 §4)
    public static var staleIfError: Self { Self(.staleIfError) }
    /// The origin cannot be reached, and the cache is configured to serve stale responses then. (RFC 9111 §4.2.4)
    public static var staleWhileDisconnected: Self { Self(.staleWhileDisconnected) }
    /// The origin cannot be reached; the configuration overrides a directive that forbids the stored response. (RFC
    /// 9111 §4.2.4)
    public static var forbiddenWhileDisconnected: Self { Self(.forbiddenWhileDisconnected) }
    /// The request's cache policy accepts a stored response of any age. (Policy)
    public static var policyReturnsStored: Self { Self(.policyReturnsStored) }

    // Sent on to the origin.
    /// Nothing is stored for this URI. (RFC 9111 §4)
    public static var nothingStored: Self { Self(.nothingStored) }
    /// Responses are stored for this URI, but the request does not match their Vary fields. (RFC 9111 §4.1)
    public static var noVariantMatches: Self { Self(.noVariantMatches) }
    /// The stored response is stale. (RFC 9111 §4.2)
    public static var stale: Self { Self(.stale) }
    /// The stored response is stale and must be revalidated before use. (RFC 9111 §5.2.2.2)
    public static var staleMustRevalidate: Self { Self(.staleMustRevalidate) }
    /// The stored response has no freshness lifetime, neither explicit nor heuristic. (RFC 9111 §4.2.1)
    public static var noLifetime: Self { Self(.noLifetime) }
    /// The stored response carries no-cache: it is revalidated before every use. (RFC 9111 §5.2.2.4)
    public static var storedNoCache: Self { Self(.storedNoCache) }
    /// The stored response was invalidated and must be revalidated before use. (RFC 9111 §4.4)
    public static var storedInvalidated: Self { Self(.storedInvalidated) }
    /// The cache cannot tell whether another node has removed the stored response: it is revalidated first. (Shared tier)
    public static var storedUnconfirmed: Self { Self(.storedUnconfirmed) }
    /// The clock is earlier than the time of storing, so the age is unknown. (RFC 9111 §4.2.3)
    public static var storedInTheFuture: Self { Self(.storedInTheFuture) }
    /// The request carries no-cache: the stored response is revalidated first. (RFC 9111 §5.2.1.4)
    public static var requestNoCache: Self { Self(.requestNoCache) }
    /// The stored response is older than the request's max-age permits. (RFC 9111 §5.2.1.1)
    public static var requestMaxAge: Self { Self(.requestMaxAge) }
    /// The stored response does not stay fresh for as long as the request's min-fresh requires. (RFC 9111 §5.2.1.3)
    public static var requestMinFresh: Self { Self(.requestMinFresh) }
    /// The request carries a precondition that only the origin may evaluate. (RFC 9111 §4.3.2)
    public static var originPrecondition: Self { Self(.originPrecondition) }
    /// The cache does not answer requests with this method. (RFC 9111 §3)
    public static var methodNotCacheable: Self { Self(.methodNotCacheable) }
    /// The content of the QUERY request is too long for a key, or its length is unknown. (QUERY draft)
    public static var queryNotKeyed: Self { Self(.queryNotKeyed) }
    /// The request has content, which this method does not define but the origin may use. (RFC 9110 §9.3.1)
    public static var requestContent: Self { Self(.requestContent) }
    /// The method is unsafe, so the request is written through to the origin. (RFC 9111 §4)
    public static var unsafeMethod: Self { Self(.unsafeMethod) }
    /// The target URI is incomplete, or servers read it in several ways, so the request has no cache key. (RFC 9111 §2)
    public static var targetNotCacheable: Self { Self(.targetNotCacheable) }
    /// The request's cache policy ignores stored responses. (Policy)
    public static var policyIgnoresStored: Self { Self(.policyIgnoresStored) }
    /// The request's cache policy requires that the stored response is revalidated first. (Policy)
    public static var policyRevalidates: Self { Self(.policyRevalidates) }
    /// The 304 response matches no stored response, so the request is repeated without conditions. (RFC 9111 §4.3.4)
    public static var validationUnusable: Self { Self(.validationUnusable) }
    /// Only a part of the content is stored, and the request needs more. (RFC 9111 §3.3)
    public static var contentIncomplete: Self { Self(.contentIncomplete) }
    /// The origin's response does not complete the stored content, so the request is repeated in full. (RFC 9111 §3.4)
    public static var completionUnusable: Self { Self(.completionUnusable) }

    // Not answered at all.
    /// The request carries only-if-cached, and no stored response can answer it. (RFC 9111 §5.2.1.7)
    public static var onlyIfCached: Self { Self(.onlyIfCached) }
    /// The request's cache policy forbids the network, and no stored response can answer it. (Policy)
    public static var policyForbidsNetwork: Self { Self(.policyForbidsNetwork) }
    /// The origin cannot be reached, and no stored response may be used instead. (RFC 9111 §4.2.4)
    public static var originUnreachable: Self { Self(.originUnreachable) }
    /// The stored response is stale and must be revalidated before use, and the origin cannot be reached. (RFC 9111
    /// §5.2.2.2)
    public static var revalidationImpossible: Self { Self(.revalidationImpossible) }
    /// The origin answered 304 to a request without a condition. (RFC 9110 §15.4.5)
    public static var unsolicitedNotModified: Self { Self(.unsolicitedNotModified) }

    // Answered by the origin.
    /// The response comes from the origin. (RFC 9111 §4)
    public static var fromOrigin: Self { Self(.fromOrigin) }
    /// The origin answered the revalidation with a full response, which replaces the stored one. (RFC 9111 §4.3.3)
    public static var replacedByOrigin: Self { Self(.replacedByOrigin) }
    /// The origin sent the missing part of the stored content. (RFC 9111 §3.4)
    public static var completedByOrigin: Self { Self(.completedByOrigin) }

    // Stored.
    /// Stored, with a freshness lifetime that the origin gave. (RFC 9111 §3)
    public static var storedWithLifetime: Self { Self(.storedWithLifetime) }
    /// Stored, with a heuristic freshness lifetime from its Last-Modified date. (RFC 9111 §4.2.2)
    public static var storedWithHeuristic: Self { Self(.storedWithHeuristic) }
    /// Stored, with a freshness lifetime that the application set. (Application)
    public static var storedByApplication: Self { Self(.storedByApplication) }
    /// Stored without a freshness lifetime: every use needs a request to the origin. (RFC 9111 §4.2.1)
    public static var storedWithoutLifetime: Self { Self(.storedWithoutLifetime) }
    /// Stored as a part of the content, for requests of ranges within that part. (RFC 9111 §3.3)
    public static var storedAsPart: Self { Self(.storedAsPart) }
    /// Stored together with other parts of the same representation. (RFC 9111 §3.4)
    public static var storedCombined: Self { Self(.storedCombined) }
    /// Stored, but it will never be reused: it carries Vary: *, which matches no request. (RFC 9111 §4.1)
    public static var storedNeverReused: Self { Self(.storedNeverReused) }

    // Not stored.
    /// The response carries no-store. (RFC 9111 §5.2.2.5)
    public static var responseNoStore: Self { Self(.responseNoStore) }
    /// The request carries no-store. (RFC 9111 §5.2.1.5)
    public static var requestNoStore: Self { Self(.requestNoStore) }
    /// The response is private, and this cache is shared. (RFC 9111 §5.2.2.7)
    public static var privateInSharedCache: Self { Self(.privateInSharedCache) }
    /// The request carried Authorization, and the response does not permit a shared cache to store it. (RFC 9111 §3.5)
    public static var authorizedInSharedCache: Self { Self(.authorizedInSharedCache) }
    /// The response carries Set-Cookie, and the origin does not declare it shareable. (RFC 9111 §7.3)
    public static var cookiesNotShared: Self { Self(.cookiesNotShared) }
    /// The response carries Set-Cookie, and this shared cache is configured not to store such responses. (Policy)
    public static var cookiesBypassed: Self { Self(.cookiesBypassed) }
    /// Responses to this method are not stored. (RFC 9111 §3)
    public static var methodNotStored: Self { Self(.methodNotStored) }
    /// The status code is not that of a final response. (RFC 9110 §15)
    public static var statusNotFinal: Self { Self(.statusNotFinal) }
    /// This cache does not store responses with this status code. (RFC 9111 §3)
    public static var statusNotUnderstood: Self { Self(.statusNotUnderstood) }
    /// The status code is not cacheable by default, and no field of the response makes it cacheable. (RFC 9111 §3)
    public static var notDeclaredCacheable: Self { Self(.notDeclaredCacheable) }
    /// The content arrived incomplete. (RFC 9111 §3.3)
    public static var incompleteContent: Self { Self(.incompleteContent) }
    /// The response is partial, and does not state clearly which bytes of the content it carries. (RFC 9110 §14.4)
    public static var partNotPlaced: Self { Self(.partNotPlaced) }
    /// The response is partial, and cannot be combined with the stored response. (RFC 9111 §3.4)
    public static var partNotCombined: Self { Self(.partNotCombined) }
    /// The response is partial, and its bytes are already stored. (RFC 9111 §3.4)
    public static var partAlreadyStored: Self { Self(.partAlreadyStored) }
    /// The application declined to store the response. (Policy)
    public static var refusedByApplication: Self { Self(.refusedByApplication) }
    /// The response is larger than the configured maximum for one response. (Store)
    public static var tooLarge: Self { Self(.tooLarge) }
    /// The memory for content in flight is full, so the response is delivered without being stored. (Store)
    public static var transitFull: Self { Self(.transitFull) }
    /// The resource was invalidated or removed while its response was in flight. (RFC 9111 §4.4)
    public static var removedMeanwhile: Self { Self(.removedMeanwhile) }
    /// A more recent response was stored while this one was in flight. (RFC 9111 §4)
    public static var overtaken: Self { Self(.overtaken) }
    /// The store failed to keep the response. (Store)
    public static var storeFailed: Self { Self(.storeFailed) }
    /// The response is larger than the memory limit. (Store)
    public static var tooLargeForMemory: Self { Self(.tooLargeForMemory) }
    /// The response is larger than the disk limit for one response. (Store)
    public static var tooLargeForDisk: Self { Self(.tooLargeForDisk) }
    /// The cache has no capacity, neither in memory nor on disk. (Store)
    public static var noCapacity: Self { Self(.noCapacity) }
    /// Only memory, or only the disk, may hold the response, and that one has no capacity. (Store)
    public static var tierWithoutCapacity: Self { Self(.tierWithoutCapacity) }
    /// The directory for the disk could not be opened, and memory has no capacity. (Store)
    public static var diskUnavailable: Self { Self(.diskUnavailable) }
    /// The store is full of responses that are still being written, so it cannot make room. (Store)
    public static var storeBusy: Self { Self(.storeBusy) }
    /// The disk fails, and the response could not be kept in memory. (Store)
    public static var diskFailing: Self { Self(.diskFailing) }
    /// The store is closed. (Store)
    public static var storeClosed: Self { Self(.storeClosed) }
    /// The response is not an HTTP response: it has neither a status code nor fields. (RFC 9111 §3)
    public static var responseNotHTTP: Self { Self(.responseNotHTTP) }

    // What became of stored responses.
    /// The stored response was updated from the origin's 304 response. (RFC 9111 §4.3.4)
    public static var freshened: Self { Self(.freshened) }
    /// The origin's 304 response selected a stored response, which now also answers requests like this one. (RFC 9111
    /// §4.1)
    public static var variantLearned: Self { Self(.variantLearned) }
    /// The stored response was updated from a HEAD response. (RFC 9111 §4.3.5)
    public static var freshenedByHead: Self { Self(.freshenedByHead) }
    /// The stored response was updated from another part of the same representation. (RFC 9111 §3.4)
    public static var freshenedByPart: Self { Self(.freshenedByPart) }
    /// A HEAD response shows that the stored response is outdated. (RFC 9111 §4.3.5)
    public static var outdatedByHead: Self { Self(.outdatedByHead) }
    /// An unsafe method succeeded, so the stored responses of its target are invalid. (RFC 9111 §4.4)
    public static var invalidatedByUnsafeMethod: Self { Self(.invalidatedByUnsafeMethod) }
    /// The response to an unsafe method invalidates a group of stored responses. (RFC 9875 §3)
    public static var invalidatedByGroup: Self { Self(.invalidatedByGroup) }
    /// A stored response was invalidated, and with it the other responses of its groups. (RFC 9875 §2.2.1)
    public static var invalidatedWithGroup: Self { Self(.invalidatedWithGroup) }
    /// The response asks the cache to remove everything that is stored for its origin. (Clear-Site-Data)
    public static var clearedByOrigin: Self { Self(.clearedByOrigin) }

    /// The RFC and section that the decision rests on, or another standard's name; "Policy", "Application" or "Store"
    /// where it is no standard's.
    public var section: String { text.section }

    /// One plain sentence.
    public var sentence: String { text.sentence }

    private var text: (section: String, sentence: String) {
      switch code {
      case .fresh: ("RFC 9111 §4.2", "The stored response is fresh.")
      case .freshByHeuristic:
        ("RFC 9111 §4.2.2", "The stored response is fresh by a heuristic from its Last-Modified date.")
      case .freshByApplication:
        ("Application", "The stored response is fresh, because the application set its lifetime.")
      case .immutable:
        ("RFC 8246 §2", "The stored response is fresh and immutable, so a reload does not revalidate it.")
      case .validated: ("RFC 9111 §4.3.3", "The origin validated the stored response.")
      case .validatedByStrongTag:
        (
          "RFC 9111 §4.3.4",
          "The origin validated the stored response: its strong entity tag is the stored weak one without W/."
        )
      case .staleAllowedByRequest:
        ("RFC 9111 §5.2.1.2", "The stored response is stale, and the request's max-stale accepts it.")
      case .staleWhileRevalidate:
        (
          "RFC 5861 §3",
          "The stored response is stale; it may be used while it is revalidated in the background."
        )
      case .staleIfError:
        ("RFC 5861 §4", "The origin failed, and stale-if-error permits the stored response.")
      case .staleWhileDisconnected:
        (
          "RFC 9111 §4.2.4",
          "The origin cannot be reached, and the cache is configured to serve stale responses then."
        )
      case .forbiddenWhileDisconnected:
        (
          "RFC 9111 §4.2.4",
          "The origin cannot be reached; the configuration overrides a directive that forbids the stored response."
        )
      case .policyReturnsStored:
        ("Policy", "The request's cache policy accepts a stored response of any age.")

      case .nothingStored: ("RFC 9111 §4", "Nothing is stored for this URI.")
      case .noVariantMatches:
        (
          "RFC 9111 §4.1",
          "Responses are stored for this URI, but the request does not match their Vary fields."
        )
      case .stale: ("RFC 9111 §4.2", "The stored response is stale.")
      case .staleMustRevalidate:
        ("RFC 9111 §5.2.2.2", "The stored response is stale and must be revalidated before use.")
      case .noLifetime:
        ("RFC 9111 §4.2.1", "The stored response has no freshness lifetime, neither explicit nor heuristic.")
      case .storedNoCache:
        ("RFC 9111 §5.2.2.4", "The stored response carries no-cache: it is revalidated before every use.")
      case .storedInvalidated:
        ("RFC 9111 §4.4", "The stored response was invalidated and must be revalidated before use.")
      case .storedUnconfirmed:
        (
          "Shared tier",
          "The cache cannot tell whether another node has removed the stored response: it is revalidated first."
        )
      case .storedInTheFuture:
        ("RFC 9111 §4.2.3", "The clock is earlier than the time of storing, so the age is unknown.")
      case .requestNoCache:
        ("RFC 9111 §5.2.1.4", "The request carries no-cache: the stored response is revalidated first.")
      case .requestMaxAge:
        ("RFC 9111 §5.2.1.1", "The stored response is older than the request's max-age permits.")
      case .requestMinFresh:
        (
          "RFC 9111 §5.2.1.3",
          "The stored response does not stay fresh for as long as the request's min-fresh requires."
        )
      case .originPrecondition:
        ("RFC 9111 §4.3.2", "The request carries a precondition that only the origin may evaluate.")
      case .methodNotCacheable:
        ("RFC 9111 §3", "The cache does not answer requests with this method.")
      case .queryNotKeyed:
        (
          "QUERY draft",
          "The content of the QUERY request is too long for a key, or its length is unknown."
        )
      case .requestContent:
        (
          "RFC 9110 §9.3.1",
          "The request has content, which this method does not define but the origin may use."
        )
      case .unsafeMethod:
        ("RFC 9111 §4", "The method is unsafe, so the request is written through to the origin.")
      case .targetNotCacheable:
        (
          "RFC 9111 §2",
          "The target URI is incomplete, or servers read it in several ways, so the request has no cache key."
        )
      case .policyIgnoresStored:
        ("Policy", "The request's cache policy ignores stored responses.")
      case .policyRevalidates:
        ("Policy", "The request's cache policy requires that the stored response is revalidated first.")
      case .validationUnusable:
        (
          "RFC 9111 §4.3.4",
          "The 304 response matches no stored response, so the request is repeated without conditions."
        )

      case .contentIncomplete:
        ("RFC 9111 §3.3", "Only a part of the content is stored, and the request needs more.")
      case .completionUnusable:
        (
          "RFC 9111 §3.4",
          "The origin's response does not complete the stored content, so the request is repeated in full."
        )

      case .onlyIfCached:
        ("RFC 9111 §5.2.1.7", "The request carries only-if-cached, and no stored response can answer it.")
      case .policyForbidsNetwork:
        ("Policy", "The request's cache policy forbids the network, and no stored response can answer it.")
      case .originUnreachable:
        ("RFC 9111 §4.2.4", "The origin cannot be reached, and no stored response may be used instead.")
      case .revalidationImpossible:
        (
          "RFC 9111 §5.2.2.2",
          "The stored response is stale and must be revalidated before use, and the origin cannot be reached."
        )
      case .unsolicitedNotModified:
        ("RFC 9110 §15.4.5", "The origin answered 304 to a request without a condition.")

      case .fromOrigin: ("RFC 9111 §4", "The response comes from the origin.")
      case .replacedByOrigin:
        (
          "RFC 9111 §4.3.3",
          "The origin answered the revalidation with a full response, which replaces the stored one."
        )
      case .completedByOrigin:
        ("RFC 9111 §3.4", "The origin sent the missing part of the stored content.")

      case .storedWithLifetime: ("RFC 9111 §3", "Stored, with a freshness lifetime that the origin gave.")
      case .storedWithHeuristic:
        ("RFC 9111 §4.2.2", "Stored, with a heuristic freshness lifetime from its Last-Modified date.")
      case .storedByApplication:
        ("Application", "Stored, with a freshness lifetime that the application set.")
      case .storedWithoutLifetime:
        ("RFC 9111 §4.2.1", "Stored without a freshness lifetime: every use needs a request to the origin.")
      case .storedAsPart:
        ("RFC 9111 §3.3", "Stored as a part of the content, for requests of ranges within that part.")
      case .storedCombined:
        ("RFC 9111 §3.4", "Stored together with other parts of the same representation.")

      case .responseNoStore: ("RFC 9111 §5.2.2.5", "The response carries no-store.")
      case .requestNoStore: ("RFC 9111 §5.2.1.5", "The request carries no-store.")
      case .privateInSharedCache:
        ("RFC 9111 §5.2.2.7", "The response is private, and this cache is shared.")
      case .authorizedInSharedCache:
        (
          "RFC 9111 §3.5",
          "The request carried Authorization, and the response does not permit a shared cache to store it."
        )
      case .cookiesNotShared:
        (
          "RFC 9111 §7.3",
          "The response carries Set-Cookie, and the origin does not declare it shareable."
        )
      case .cookiesBypassed:
        (
          "Policy",
          "The response carries Set-Cookie, and this shared cache is configured not to store such responses."
        )
      case .methodNotStored: ("RFC 9111 §3", "Responses to this method are not stored.")
      case .statusNotFinal: ("RFC 9110 §15", "The status code is not that of a final response.")
      case .statusNotUnderstood:
        ("RFC 9111 §3", "This cache does not store responses with this status code.")
      case .notDeclaredCacheable:
        (
          "RFC 9111 §3",
          "The status code is not cacheable by default, and no field of the response makes it cacheable."
        )
      case .incompleteContent: ("RFC 9111 §3.3", "The content arrived incomplete.")
      case .partNotPlaced:
        (
          "RFC 9110 §14.4",
          "The response is partial, and does not state clearly which bytes of the content it carries."
        )
      case .partNotCombined:
        ("RFC 9111 §3.4", "The response is partial, and cannot be combined with the stored response.")
      case .partAlreadyStored:
        ("RFC 9111 §3.4", "The response is partial, and its bytes are already stored.")
      case .refusedByApplication: ("Policy", "The application declined to store the response.")
      case .tooLarge: ("Store", "The response is larger than the configured maximum for one response.")
      case .transitFull:
        (
          "Store",
          "The memory for content in flight is full, so the response is delivered without being stored."
        )
      case .removedMeanwhile:
        ("RFC 9111 §4.4", "The resource was invalidated or removed while its response was in flight.")
      case .overtaken:
        ("RFC 9111 §4", "A more recent response was stored while this one was in flight.")
      case .storeFailed: ("Store", "The store failed to keep the response.")

      case .freshened: ("RFC 9111 §4.3.4", "The stored response was updated from the origin's 304 response.")
      case .variantLearned:
        (
          "RFC 9111 §4.1",
          "The origin's 304 response selected a stored response, which now also answers requests like this one."
        )
      case .freshenedByHead: ("RFC 9111 §4.3.5", "The stored response was updated from a HEAD response.")
      case .freshenedByPart:
        ("RFC 9111 §3.4", "The stored response was updated from another part of the same representation.")
      case .outdatedByHead:
        ("RFC 9111 §4.3.5", "A HEAD response shows that the stored response is outdated.")
      case .invalidatedByUnsafeMethod:
        ("RFC 9111 §4.4", "An unsafe method succeeded, so the stored responses of its target are invalid.")
      case .invalidatedByGroup:
        ("RFC 9875 §3", "The response to an unsafe method invalidates a group of stored responses.")
      case .invalidatedWithGroup:
        (
          "RFC 9875 §2.2.1",
          "A stored response was invalidated, and with it the other responses of its groups."
        )
      case .clearedByOrigin:
        ("Clear-Site-Data", "The response asks the cache to remove everything that is stored for its origin.")

      case .storedNeverReused:
        (
          "RFC 9111 §4.1",
          "Stored, but it will never be reused: it carries Vary: *, which matches no request."
        )
      case .tooLargeForMemory: ("Store", "The response is larger than the memory limit.")
      case .tooLargeForDisk: ("Store", "The response is larger than the disk limit for one response.")
      case .noCapacity: ("Store", "The cache has no capacity, neither in memory nor on disk.")
      case .tierWithoutCapacity:
        ("Store", "Only memory, or only the disk, may hold the response, and that one has no capacity.")
      case .diskUnavailable:
        ("Store", "The directory for the disk could not be opened, and memory has no capacity.")
      case .storeBusy:
        ("Store", "The store is full of responses that are still being written, so it cannot make room.")
      case .diskFailing: ("Store", "The disk fails, and the response could not be kept in memory.")
      case .storeClosed: ("Store", "The store is closed.")
      case .responseNotHTTP:
        ("RFC 9111 §3", "The response is not an HTTP response: it has neither a status code nor fields.")
      }
    }
  }
}

extension CacheEngine.Reason: CustomStringConvertible {
  public var description: String { "\(sentence) (\(section))" }
}

extension CacheEngine.Reason {
  /// Whether the origin has validated the stored response that is served.
  package var isValidation: Bool { self == .validated || self == .validatedByStrongTag }
}
