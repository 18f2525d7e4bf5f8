// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// The rules of HTTP caching as pure functions (RFC 9111).
///
/// The engine knows no clock, no store and no network. Two questions cross its door:
///
/// - *before* the network, ``plan(for:policy:candidates:now:)``: may a stored response answer this request, or which
///   request goes to the origin?
/// - *after* the network, ``outcome(of:)``: what becomes of the answer, and of what is stored?
///
/// Every answer says why, by a ``CacheEngine/Reason``.
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
  /// What kind of cache this is, and the choices that the RFC leaves to it.
  public struct Configuration: Hashable, Sendable {
    /// Whether the responses serve one user or many (RFC 9111 §1).
    public enum Kind: String, Hashable, Sendable, CaseIterable, Codable {
      /// One user's, as in an app: `private` responses and those to authorised requests are stored.
      case `private`
      /// Many users', as in a proxy.
      case shared
    }

    /// Whether the cache is private or shared.
    public var kind: Kind { didSet { updateWithheldNames() } }
    /// Whether a response without an explicit lifetime may be fresh for a tenth of the time since it was modified
    /// (§4.2.2).
    public var usesHeuristics: Bool
    /// The longest heuristic lifetime (default: a day).
    public var heuristicMaximum: Duration
    /// What is served when the origin cannot be reached (§4.2.4). The default is `nothing`: the caller gets the transport's
    /// error.
    public var whenDisconnected: DisconnectedUse
    /// Whether `Clear-Site-Data: "cache"` over HTTPS removes all of its origin; `nil` if in a private cache only: the
    /// field speaks to user agents, and in a shared cache would let one user empty it for all.
    public var clearsSiteData: Bool?
    /// The target list (RFC 9213 §2.2): names of fields that take the place of `Cache-Control` and `Expires` in
    /// responses, the most applicable first. Empty, unless set otherwise; a CDN's cache has `["CDN-Cache-Control"]`.
    public var targets: [String] {
      didSet {
        targets = targets.map { $0.lowercased() }
        targetNames = FieldNameSet(targets)
      }
    }
    private(set) var targetNames: FieldNameSet
    /// Whether responses may answer for other query strings where their `No-Vary-Search` says so. The field is not a
    /// standard yet.
    public var usesNoVarySearch: Bool
    /// Whether a stored response in the language that a request prefers to all others answers it, though its
    /// `Accept-Language` is another than that of the request it was stored for. Off by default.
    ///
    /// This goes beyond RFC 9111 §4.1, by which a stored response matches "if and only if" the nominated fields do, and
    /// leaves such requests to the origin. Set it only for an origin that answers with the favourite language whenever it
    /// has it.
    public var negotiatesLanguage: Bool

    /// The names of fields whose values are never stored, neither in memory nor on disk: of a response they are left out,
    /// and of a request that `Vary` selects by, a SHA-256 digest takes the place of the value.
    ///
    /// Credentials of requests, unless set otherwise: `Authorization`, `Cookie`, `Proxy-Authorization`. RFC 9111 §3.1 has
    /// a cache store all fields of a response, `Set-Cookie` among them, which "does not inhibit caching" (§7.3). For a shared
    /// cache, see ``setCookie``. Browsers need no cookie a second time and leave it out: add its name to do the same.
    ///
    /// `Cache-Control`, `Vary` and the fields of ``targets`` are stored all the same: they decide on reuse.
    public var withheldFields = ["authorization", "cookie", "proxy-authorization"] {
      didSet {
        withheldFields = withheldFields.map { $0.lowercased() }
        updateWithheldNames()
      }
    }
    /// What a shared cache does with a response that sets cookies (§7.3). Stores it where the origin declares it shareable,
    /// by default.
    public var setCookie = SetCookieUse.store { didSet { updateWithheldNames() } }
    /// The names of ``withheldFields``, and those that ``setCookie`` adds.
    private(set) var withheldNames: FieldNameSet

    private mutating func updateWithheldNames() {
      withheldNames = FieldNameSet(
        withheldFields + (stripsCookies ? SharedCookies.names.map(\.canonicalName) : []))
    }

    /// A configuration. Each parameter is documented at the property of its name.
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
      self.targets = targets.map { $0.lowercased() }
      targetNames = FieldNameSet(self.targets)
      withheldNames = FieldNameSet(withheldFields)
    }
  }

  /// The choices that this engine decides by.
  public let configuration: Configuration

  /// - Parameter configuration: the choices that RFC 9111 leaves to a cache.
  public init(_ configuration: Configuration) {
    self.configuration = configuration
  }
}
