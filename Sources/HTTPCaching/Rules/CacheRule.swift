// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// What an operator decides for some requests and responses, in the place of an origin that does not say it.
///
/// ```swift
/// let rules = try CacheRules([
///   CacheRule(paths: ["/static/*"]) { $0.lifetime = .seconds(86_400) },
///   CacheRule(paths: ["/wp-admin/*"], orCookies) { $0.isBypassed = true },
/// ])
/// ```
///
/// A rule has a match and settings; a setting that is `nil` is left to the next rule that matches, and in the end to the
/// origin and the configuration. See ``CacheRules``.
public struct CacheRule: Hashable, Sendable {
  /// The name in messages and counts; without one, it is `rule` and the position, from 1.
  public var name: String?
  /// The requests and responses that the rule concerns.
  public var match = Match()

  // MARK: - Storing

  /// The freshness lifetime, from the arrival of the response on, in the place of the origin's. A response with `no-cache`
  /// keeps what the origin says, unless ``reusesNoCache`` is true. Without ``Match/statuses`` it is for the statuses 200,
  /// 203, 204, 206, 300, 301 and 308: other redirects depend on the user or the moment.
  public var lifetime: Duration?
  /// The same for responses in which the origin says nothing about a lifetime.
  public var defaultLifetime: Duration?
  /// The same as ``lifetime`` by status codes.
  public var statusLifetimes: [StatusLifetime]?
  /// Whether the cache takes no part: it neither answers the requests, nor stores the responses. Of other settings, only
  /// ``removedRequestFields``, ``removedResponseFields`` and ``setResponseFields`` then have an effect, except on the fields of
  /// credentials, such as `Cookie` and `Authorization`, and on those about caching, such as `Cache-Control` and `ETag`.
  public var isBypassed: Bool?
  /// Whether responses without a lifetime may be fresh for a share of the time since their last modification (RFC 9111
  /// §4.2.2).
  public var usesHeuristics: Bool?
  /// That share, in percent.
  public var heuristicPercent: Int?
  /// The longest such lifetime.
  public var heuristicMaximum: Duration?
  /// Maximum length of content that is stored, in bytes.
  public var maximumSize: Int?
  /// Whether ``lifetime`` and ``statusLifetimes`` also concern responses with `no-cache`, which is then ignored. This goes
  /// against RFC 9111 §5.2.2.4.
  public var reusesNoCache: Bool?
  /// Whether responses with `no-store` are stored all the same. This goes against RFC 9111 §5.2.2.5.
  public var storesNoStore: Bool?
  /// Whether a shared cache gives responses with `private` to all. This goes against RFC 9111 §5.2.2.7.
  public var sharesPrivate: Bool?
  /// Whether a shared cache stores responses to requests with `Authorization` that do not permit it, so that they answer
  /// others. This goes against RFC 9111 §3.5, unless ``partitionField`` separates the users.
  public var sharesAuthorized: Bool?

  // MARK: - Stale responses

  /// How long a stale response is served while it is revalidated, where the origin said nothing (RFC 5861 §3). Only for a response
  /// that had a lifetime above 0, of the origin, a rule or a heuristic: ``defaultLifetime`` gives it one.
  public var grace: Duration?
  /// How long a stale response is served if the origin fails (RFC 5861 §4); for the same responses as ``grace``.
  public var staleIfError: Duration?
  /// What counts as a failure for ``staleIfError`` (default: the statuses 500, 502, 503 and 504, and connections that
  /// fail).
  public var errors: Errors?
  /// Whether ``grace`` and ``staleIfError`` also concern responses with `must-revalidate`, `proxy-revalidate` or
  /// `s-maxage`. This goes against RFC 9111 §5.2.2.2.
  public var servesStaleDespiteMustRevalidate: Bool?

  // MARK: - Requests

  /// What a request may require of a fresh stored response.
  public var reload: CacheEngine.ReloadUse?
  /// Parameters of the query that are not part of the key. The origin gets them. Only for rules that match by host and
  /// path, so that the key follows from the target alone.
  public var ignoredParameters: NameSelection?
  /// Whether the order of the query's parameters does not matter to the key. For the same rules only.
  public var sortsParameters: Bool?
  /// Cookies that are removed from the request before it is looked up or sent.
  public var removedCookies: NameSelection?
  /// Fields that are removed likewise.
  public var removedRequestFields: [String]?

  // MARK: - Responses

  /// Fields that are removed from the origin's response before it is judged. Responses that the cache or the proxy makes, such
  /// as errors, have them removed as those of bypassed requests: see ``isBypassed``.
  public var removedResponseFields: [String]?
  /// Fields that replace those of the same names likewise.
  public var setResponseFields: [Field]?
  /// What a shared cache does with a response that sets cookies.
  public var setCookie: CacheEngine.SetCookieUse?
  /// Fields whose values are tags of the response, by which it can be purged; see `CacheEngine.Configuration.tagFields`.
  public var tagFields: [String]?
  /// Whether clients get these fields.
  public var showsTags: Bool?

  // MARK: - Key

  /// Request fields that distinguish responses as if `Vary` named them.
  public var keyFields: [String]?
  /// The content codings that the origin distinguishes, such as `gzip`. `Accept-Encoding` is reduced to those of them that
  /// the client accepts, before the request is looked up or sent.
  public var contentCodings: [String]?
  /// A cookie whose value separates the responses of one user or site from those of others. The partition is the SHA-256
  /// digest of the value, in hexadecimal digits, because no credentials are stored.
  public var partitionCookie: String?
  /// A request field of which the same is true. The partition is its value, or the digest of that for the fields of
  /// `CacheEngine.Configuration.withheldFields`.
  public var partitionField: String?

  /// Makes a rule without settings.
  ///
  /// - Parameters:
  ///   - name: the name in messages and counts.
  ///   - hosts: see ``Match/hosts``.
  ///   - paths: see ``Match/paths``.
  ///   - configure: changes the match and the settings.
  public init(
    name: String? = nil, hosts: [String] = [], paths: [String] = [],
    _ configure: (inout CacheRule) -> Void = { _ in }
  ) {
    self.name = name
    (match.hosts, match.paths) = (hosts, paths)
    configure(&self)
  }
}

extension CacheRule {
  /// A condition on a request, and on the response to it. All parts must be met; one that is empty is met by all, and one
  /// with several values by any of them.
  public struct Match: Hashable, Sendable {
    /// Hosts without a port: `www.example.com`, or `*.example.com` for all that end so.
    public var hosts: [String] = []
    /// Paths without the query: `/about`, `/static/*` for all that begin so, or `/*/feed` with `*` for any text. A path is
    /// compared after percent-decoding, and without `.` segments and repeated slashes, as origins read it. The settings that
    /// keep responses from others, such as ``CacheRule/isBypassed`` and ``CacheRule/keyFields``, ignore the case of letters,
    /// slashes, dots and blanks at the end, and what follows an encoded NUL, `?` or `#`.
    public var paths: [String] = []
    /// Methods.
    public var methods: [String] = []
    /// Request fields that are present, or have one of some values.
    public var fields: [FieldCondition] = []
    /// Names of cookies that are present; a `*` at the end stands for any text.
    public var cookies: [String] = []
    /// Names of parameters that the query has, likewise.
    public var parameters: [String] = []
    /// Status codes of the response.
    public var statuses: [ClosedRange<Int>] = []
    /// Media types of the response: `text/html`, or `image/*`.
    public var mediaTypes: [String] = []
    /// The length of the response's content in bytes. A response of unknown length does not match.
    public var sizes: ClosedRange<Int>?

    /// Whether it needs the response.
    var isOfResponse: Bool { !statuses.isEmpty || !mediaTypes.isEmpty || sizes != nil }
    /// Whether it needs more of the request than its target.
    var needsMoreThanTarget: Bool {
      isOfResponse || !methods.isEmpty || !fields.isEmpty || !cookies.isEmpty || !parameters.isEmpty
    }
  }

  /// A condition on a request field.
  public struct FieldCondition: Hashable, Sendable {
    /// The name of the field.
    public var name: String
    /// The values; empty if the field only has to be present.
    public var values: [String]

    /// Makes a condition.
    public init(_ name: String, values: [String] = []) {
      (self.name, self.values) = (name, values)
    }
  }

  /// A freshness lifetime for some status codes.
  public struct StatusLifetime: Hashable, Sendable {
    /// The status codes.
    public var statuses: ClosedRange<Int>
    /// The lifetime.
    public var lifetime: Duration

    /// Makes a lifetime.
    public init(_ statuses: ClosedRange<Int>, _ lifetime: Duration) {
      (self.statuses, self.lifetime) = (statuses, lifetime)
    }
  }

  /// Failures of an origin.
  public struct Errors: Hashable, Sendable {
    /// Status codes that count as failures.
    public var statuses: [ClosedRange<Int>]
    /// Whether a connection that fails, or ends before a response, counts.
    public var includesFailures: Bool

    /// Makes a set of failures.
    public init(statuses: [ClosedRange<Int>], includesFailures: Bool = true) {
      (self.statuses, self.includesFailures) = (statuses, includesFailures)
    }
  }

  /// A field of a response.
  public struct Field: Hashable, Sendable {
    /// The name of the field.
    public var name: String
    /// Its value.
    public var value: String

    /// Makes a field.
    public init(_ name: String, _ value: String) {
      (self.name, self.value) = (name, value)
    }
  }

  /// Some of the names that a request has. A `*` at the end of a name stands for any text.
  public enum NameSelection: Hashable, Sendable {
    /// All names.
    case all
    /// These names.
    case named([String])
    /// All names but these.
    case allBut([String])

    /// Whether a name is selected.
    func contains(_ name: Substring) -> Bool {
      switch self {
      case .all: true
      case .named(let names): names.contains { name.matches(name: $0) }
      case .allBut(let names): !names.contains { name.matches(name: $0) }
      }
    }
  }
}

extension Substring {
  /// Whether this is a name, byte for byte; a `*` at its end stands for any text.
  func matches(name: String) -> Bool {
    guard name.utf8.last == UInt8(ascii: "*") else { return utf8.elementsEqual(name.utf8) }
    return utf8.starts(with: name.utf8.dropLast())
  }
}
