// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Which target URIs count as one: a rule gives each the URI that it is stored and found under.
///
/// RFC 9111 §2 lets a cache normalise the target URI, and nobody but who knows the server can say that two URIs name the same
/// resource. What goes to the origin is the request as it is.
///
/// ```swift
/// configuration.targetRule = .droppingTrackingParameters.then(.sortingParameters)
/// ```
public struct TargetRule: Sendable {
  private let canonical: @Sendable (TargetURI) -> TargetURI

  /// A rule of one's own. It is asked for every request, and must always give the same answer.
  public init(_ canonical: @escaping @Sendable (TargetURI) -> TargetURI) {
    self.canonical = canonical
  }

  /// The URI that counts for another.
  package func callAsFunction(_ uri: TargetURI) -> TargetURI { canonical(uri) }

  /// This rule, and then another.
  public func then(_ next: TargetRule) -> TargetRule {
    TargetRule { [canonical] in next.canonical(canonical($0)) }
  }
}

extension TargetRule {
  /// Leaves out parameters of the query by their names, compared as they are written.
  ///
  /// - Parameter names: a name that ends in `*` stands for all that begin so.
  public static func droppingParameters(_ names: [String]) -> TargetRule {
    let whole = Set(names.filter { $0.last != "*" })
    let prefixes = names.filter { $0.last == "*" }.map { $0.dropLast() }
    return rewritingParameters { parameters in
      parameters.filter { parameter in
        let name = parameter.prefix { $0 != "=" }
        return !whole.contains(String(name)) && !prefixes.contains { name.hasPrefix($0) }
      }
    }
  }

  /// Leaves out what campaigns and advertisers add to links: `utm_…`, `fbclid`, `gclid` and their like.
  public static let droppingTrackingParameters = droppingParameters([
    "utm_*", "mtm_*", "pk_*", "fbclid", "gclid", "gbraid", "wbraid", "dclid", "gclsrc", "msclkid", "twclid",
    "ttclid", "yclid", "igshid", "mc_cid", "mc_eid", "_ga", "_gl",
  ])

  /// Takes the parameters of the query in the order of their names; those of one name stay in theirs.
  public static let sortingParameters = rewritingParameters { parameters in
    // Swift's sort is stable, but does not promise it.
    parameters.enumerated().sorted { left, right in
      let names = (left.element.prefix { $0 != "=" }, right.element.prefix { $0 != "=" })
      return names.0 == names.1 ? left.offset < right.offset : names.0 < names.1
    }.map(\.element)
  }

  /// Leaves out the query.
  public static let ignoringQuery = rewritingParameters { _ in [] }

  private static func rewritingParameters(
    _ rewrite: @escaping @Sendable ([Substring]) -> [Substring]
  ) -> TargetRule {
    TargetRule { uri in
      guard let mark = uri.path.firstIndex(of: "?") else { return uri }
      let query = uri.path[uri.path.index(after: mark)...]
      let parameters = rewrite(query.split(separator: "&", omittingEmptySubsequences: false))
      let path = uri.path[..<mark]
      return TargetURI(
        scheme: uri.scheme, authority: uri.authority,
        path: parameters.isEmpty ? String(path) : path + "?" + parameters.joined(separator: "&"))
    }
  }
}
