extension CacheEngine {
  /// Why the engine decided as it did: a case, the section of the standard, and one sentence.
  ///
  /// Logs, metrics, `Cache-Status` and `httpcache explain` all read this, and so say the same.
  public enum Reason: String, Hashable, Sendable, CaseIterable {
    // Served from the store.
    case fresh
    case freshByHeuristic
    case immutable
    case validated
    case staleAllowedByRequest
    case staleWhileRevalidate
    case staleIfError
    case staleWhileDisconnected
    case forbiddenWhileDisconnected
    case policyReturnsStored

    // Sent on to the origin.
    case nothingStored
    case noVariantMatches
    case stale
    case staleMustRevalidate
    case noLifetime
    case storedNoCache
    case storedInvalidated
    case storedInTheFuture
    case requestNoCache
    case requestMaxAge
    case requestMinFresh
    case originPrecondition
    case methodNotCacheable
    case queryNotKeyed
    case requestContent
    case unsafeMethod
    case targetNotCacheable
    case policyIgnoresStored
    case policyRevalidates
    case validationUnusable
    case contentIncomplete
    case completionUnusable

    // Not answered at all.
    case onlyIfCached
    case policyForbidsNetwork
    case originUnreachable
    case revalidationImpossible

    // Answered by the origin.
    case fromOrigin
    case replacedByOrigin
    case completedByOrigin

    // Stored.
    case storedWithLifetime
    case storedWithHeuristic
    case storedWithoutLifetime
    case storedAsPart
    case storedCombined

    // Not stored.
    case responseNoStore
    case requestNoStore
    case privateInSharedCache
    case authorizedInSharedCache
    case cookiesNotShared
    case cookiesBypassed
    case methodNotStored
    case statusNotFinal
    case statusNotUnderstood
    case notDeclaredCacheable
    case incompleteContent
    case partNotPlaced
    case partNotCombined
    case partAlreadyStored
    case refusedByApplication
    case tooLarge
    case transitFull
    case removedMeanwhile
    case overtaken
    case storeFailed

    // What became of stored responses.
    case freshened
    case variantLearned
    case freshenedByHead
    case freshenedByPart
    case outdatedByHead
    case invalidatedByUnsafeMethod
    case invalidatedByGroup
    case invalidatedWithGroup
    case clearedByOrigin

    /// The RFC and section that the decision rests on, or another standard's name; "Policy" or "Store" where it is no
    /// standard's.
    public var section: String { text.section }

    /// One plain sentence.
    public var sentence: String { text.sentence }

    private var text: (section: String, sentence: String) {
      switch self {
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
      case .tooLarge: ("Store", "The response is larger than the store accepts.")
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
      }
    }
  }
}

extension CacheEngine.Reason: CustomStringConvertible {
  public var description: String { "\(sentence) (\(section))" }
}
