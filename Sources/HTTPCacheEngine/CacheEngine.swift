// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The rules of HTTP caching as pure functions (RFC 9111).
///
/// The engine has no clock, no store and no network. It has two entry points:
///
/// - *before* the network, ``plan(for:policy:candidates:now:)`` decides whether a stored response may answer the
///   request, or which request goes to the origin;
/// - *after* the network, ``outcome(of:)`` decides what happens to the response and to the stored responses.
///
/// Every decision has a ``CacheEngine/Reason``.
///
/// ```swift
/// let engine = CacheEngine(.init(kind: .private))
/// switch engine.plan(for: request, policy: .useProtocolCachePolicy, candidates: stored, now: now) {
/// case .serve(let service): …    // stored[service.candidate] answers
/// case .forward(let forwarding): …    // send forwarding.request, then ask for the outcome
/// case .fail(let refusal): …    // the request forbids the network
/// }
/// ```
public struct CacheEngine: Sendable {
  /// The kind of the cache, and the choices that the RFC leaves to it.
  public struct Configuration: Hashable, Sendable {
    /// Whether the responses serve one user or many (RFC 9111 §1).
    public enum Kind: String, Hashable, Sendable, CaseIterable, Codable {
      /// For one user, as in an app: `private` responses and those to authorised requests are stored.
      case `private`
      /// For many users, as in a proxy.
      case shared
    }

    /// Whether the cache is private or shared.
    public var kind: Kind { didSet { updateWithheldNames() } }
    /// Whether a response without an explicit lifetime may be fresh for a share of the time since its last modification
    /// (§4.2.2).
    public var usesHeuristics: Bool
    /// That share, in percent (default: 10, which §4.2.2 calls typical).
    public var heuristicPercent = 10
    /// The longest heuristic lifetime (default: a day).
    public var heuristicMaximum: Duration
    /// Which stored responses are served while the origin is unreachable (§4.2.4). The default is `nothing`: the caller
    /// gets the transport's error.
    public var whenDisconnected: DisconnectedUse
    /// Whether `Clear-Site-Data: "cache"` over HTTPS removes all responses of its origin; `nil` means only in a private
    /// cache. The field is for user agents: in a shared cache, one user could empty the cache for all.
    public var clearsSiteData: Bool?
    /// The target list (RFC 9213 §2.2): names of response fields that replace `Cache-Control` and `Expires`, the most
    /// applicable first (default: empty). A CDN's cache has `["CDN-Cache-Control"]`.
    public var targets: [String] {
      didSet {
        targets = targets.map { $0.lowercasedASCII }
        targetNames = FieldNameSet(targets)
      }
    }
    private(set) var targetNames: FieldNameSet
    /// Whether a response may answer requests with other query strings if its `No-Vary-Search` allows it. The field is
    /// not a standard yet.
    public var usesNoVarySearch: Bool
    /// Whether a stored response in the language that a request prefers to all others may answer it. The request's
    /// `Accept-Language` may then differ from that of the request it was stored for. Off by default.
    ///
    /// This goes beyond RFC 9111 §4.1, by which a stored response matches "if and only if" the nominated fields do.
    /// Such requests otherwise go to the origin. Set it only for an origin that answers with the preferred language
    /// whenever it has it.
    public var negotiatesLanguage: Bool

    /// Whether a 304 response with the strong entity tag `"v"` validates a stored response with the weak tag `W/"v"`, if
    /// the request named that tag alone (default: `true`).
    ///
    /// This departs from RFC 9111 §4.3.4, because an origin that compresses sends such a 304: nginx with `gzip on`. The
    /// stored response keeps its tag, and all fields that describe it. With `false`, the request is repeated in full.
    public var acceptsStrongTagForWeak = true

    /// Fields of requests in which more than their spelling has no meaning to the origin (default: none).
    ///
    /// If a response varies on one of them, a stored response then answers requests in which order and letter case
    /// differ. Of `Accept-Encoding`, it matters only which codings a request accepts, not with what weight.
    ///
    /// This goes beyond RFC 9111 §4.1: many origins take the first of the types or languages with equal weights, although
    /// clients cannot rely on that (RFC 9110 §12.5.4). Set it only for origins that do not, to have fewer variants.
    public var normalizes: Set<NegotiationField> = []

    /// The names of fields whose values are never stored, neither in memory nor on disk. A stored response omits these
    /// fields. If `Vary` nominates one of them, a SHA-256 digest replaces the value of the request.
    ///
    /// The default is the credentials of requests: `Authorization`, `Cookie`, `Proxy-Authorization`. RFC 9111 §3.1
    /// requires a cache to store all fields of a response, including `Set-Cookie`, which "does not inhibit caching"
    /// (§7.3). For a shared cache, see ``setCookie``. Browsers need no cookie a second time and omit it: add its name
    /// to do the same.
    ///
    /// `Cache-Control`, `Vary` and the fields of ``targets`` are always stored, because they decide on reuse.
    public var withheldFields = ["authorization", "cookie", "proxy-authorization"] {
      didSet {
        withheldFields = withheldFields.map { $0.lowercasedASCII }
        updateWithheldNames()
      }
    }
    /// Whether a private cache reuses a response to a request with `Authorization` only for requests with the same value
    /// (default: yes), as if `Vary` nominated that field. With `public` or `s-maxage`, it answers all requests.
    ///
    /// RFC 9111 §3.5 has no such rule for a private cache: it assumes one user. An application whose user can sign out, or
    /// type a wrong password, has several. A request with other credentials goes to the origin, without a condition that names
    /// the stored response: an origin with one tag for all users would confirm that of another. A response to a request without
    /// `Authorization` answers requests with it.
    public var separatesCredentials = true
    /// What a shared cache does with a response that sets cookies (§7.3). By default, it stores the response if the
    /// origin declares it for shared caches.
    public var setCookie = SetCookieUse.declared { didSet { updateWithheldNames() } }
    /// What a request may require of a fresh stored response (§5.2.1). By default (`nil`), ``ReloadUse/validateOnce`` in a
    /// shared cache, and ``ReloadUse/honor`` in a private one.
    public var reload: ReloadUse?
    /// What rules decide for the requests that this configuration is for; `nil` if no rule concerns them.
    package var ruling: Ruling? {
      get { if case .some(let ruling) = keptRuling { ruling } else { nil } }
      set { keptRuling = newValue.map { .some($0) } ?? .none }
    }
    private var keptRuling = KeptRuling.none

    /// Apart from the configuration, which is copied, because most have none.
    private enum KeptRuling: Hashable {
      case none
      indirect case some(Ruling)
    }

    /// ``reload``, with its default.
    var reloadUse: ReloadUse { reload ?? (kind == .shared ? .validateOnce : .honor) }
    /// The names of response fields whose values are tags of the response, such as `Surrogate-Key`, `Cache-Tag`, `xkey` or
    /// `X-Magento-Tags` (default: none).
    ///
    /// A response can be purged by its tags as by its groups (`Cache-Groups`, RFC 9875), which every response may have:
    /// a tag and a group of one name are the same. Tags may contain any visible bytes. They are separated by blanks in
    /// `Surrogate-Key`, by commas in `Cache-Tag`, `Edge-Cache-Tag` and `X-Magento-Tags`, and by either in other fields. A
    /// field with a meaning for caching, such as `Cache-Control` or `Cache-Groups`, has no tags.
    ///
    /// A response with more than 4,096 tags, or tags of more than 64 KiB, is not stored: it could not be purged by all of
    /// them. A stored response keeps its tags if this list changes, and a response without the field then has none.
    public var tagFields: [String] = [] {
      didSet {
        tagFields = tagFields.map { $0.lowercasedASCII }
        tagNames = FieldNameSet(tagFields.filter(Self.mayHaveTags))
        updateWithheldNames()
      }
    }
    /// Whether clients get the ``tagFields`` (default: no, they are removed from each response, stored or not).
    public var showsTags = false { didSet { updateWithheldNames() } }
    /// The names in ``tagFields`` that may have tags.
    private(set) var tagNames = FieldNameSet.none
    /// The names in ``withheldFields``, and those that ``setCookie`` and ``tagFields`` add.
    private(set) var withheldNames: FieldNameSet

    private mutating func updateWithheldNames() {
      withheldNames = FieldNameSet(
        withheldFields + (stripsCookies ? SharedCookies.names.map(\.canonicalName) : [])
          + (showsTags ? [] : tagNames.names))
    }

    /// Whether a name, in lowercase, may be one of the ``tagFields``.
    package static func mayHaveTags(_ name: String) -> Bool { FieldKind(name) == .other }

    /// Makes a configuration. Each parameter is documented at the property of its name.
    public init(
      kind: Kind, usesHeuristics: Bool = true, heuristicMaximum: Duration = .seconds(86_400),
      whenDisconnected: DisconnectedUse = .nothing, clearsSiteData: Bool? = nil, targets: [String] = [],
      usesNoVarySearch: Bool = false, negotiatesLanguage: Bool = false
    ) {
      self.kind = kind
      self.usesHeuristics = usesHeuristics
      self.heuristicMaximum = heuristicMaximum
      self.whenDisconnected = whenDisconnected
      self.usesNoVarySearch = usesNoVarySearch
      self.negotiatesLanguage = negotiatesLanguage
      self.clearsSiteData = clearsSiteData
      self.targets = targets.map { $0.lowercasedASCII }
      targetNames = FieldNameSet(self.targets)
      withheldNames = FieldNameSet(withheldFields)
    }
  }

  /// The engine's configuration.
  public let configuration: Configuration

  /// - Parameter configuration: the choices that RFC 9111 leaves to a cache.
  public init(_ configuration: Configuration) {
    self.configuration = configuration
  }
}
