// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Maps target URIs to the URI that their responses are stored under, so that equivalent URIs share a response.
///
/// RFC 9111 §2 lets a cache normalise the target URI. Only an application that knows the server can say that two URIs
/// identify the same resource. The origin gets the request unchanged.
///
/// ```swift
/// configuration.targetRule = .droppingTrackingParameters.then(.sortingParameters)
/// ```
public struct TargetRule: Sendable {
  private let canonical: @Sendable (TargetURI) -> TargetURI

  /// Makes a rule from a closure. The closure is called for every request, and must always return the same result.
  public init(_ canonical: @escaping @Sendable (TargetURI) -> TargetURI) {
    self.canonical = canonical
  }

  /// Returns the URI that stands for another.
  package func callAsFunction(_ uri: TargetURI) -> TargetURI { canonical(uri) }

  /// Returns a rule that applies this rule, and then another.
  public func then(_ next: TargetRule) -> TargetRule {
    TargetRule { [canonical] in next.canonical(canonical($0)) }
  }
}

extension TargetRule {
  /// Returns a rule that removes query parameters by name, compared literally.
  ///
  /// - Parameter names: the names; a name that ends in `*` matches all names with that prefix.
  public static func droppingParameters(_ names: [String]) -> TargetRule {
    let whole = Set(names.filter { $0.last != "*" })
    let prefixes = names.filter { $0.last == "*" }.map { $0.dropLast() }
    return rewritingParameters { parameters in
      parameters.filter { parameter in
        let name = parameter.prefix { $0 != "=" }
        // Some origins split at semicolons, too: what follows may have a meaning.
        return parameter.utf8.contains(UInt8(ascii: ";"))
          || (!whole.contains(String(name)) && !prefixes.contains { name.hasPrefix($0) })
      }
    }
  }

  /// Returns a rule that removes all parameters of the query but some, compared as in ``droppingParameters(_:)``.
  ///
  /// A parameter that origins may take for one of these stays, too: `p%61ge=2`, `page[]=2` or `x=1;page=2` for `page`.
  /// Otherwise one client could choose the page that others get.
  public static func keepingParameters(_ names: [String]) -> TargetRule {
    rewritingParameters { parameters in
      parameters.filter { parameter in
        let name = parameter.prefix { $0 != "=" }
        let isPlain =
          name.utf8.allSatisfy {
            $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
          }
          && !parameter.utf8.contains(UInt8(ascii: ";"))
        return !isPlain || names.contains { $0.last == "*" ? name.hasPrefix($0.dropLast()) : name == $0 }
      }
    }
  }

  /// Removes parameters that campaigns and advertisers add to links: `utm_…`, `fbclid`, `gclid` and the like.
  public static let droppingTrackingParameters = droppingParameters([
    "utm_*", "mtm_*", "pk_*", "fbclid", "gclid", "gbraid", "wbraid", "dclid", "gclsrc", "msclkid", "twclid",
    "ttclid", "yclid", "igshid", "mc_cid", "mc_eid", "_ga", "_gl",
  ])

  /// Sorts the parameters of the query by name; parameters with equal names keep their order.
  public static let sortingParameters = rewritingParameters { parameters in
    // Swift's sort is stable, but that is not documented.
    parameters.enumerated().sorted { left, right in
      let names = (left.element.prefix { $0 != "=" }, right.element.prefix { $0 != "=" })
      return names.0 == names.1 ? left.offset < right.offset : names.0 < names.1
    }.map(\.element)
  }

  /// Removes the query.
  public static let ignoringQuery = rewritingParameters { _ in [] }

  private static func rewritingParameters(
    _ rewrite: @escaping @Sendable ([Substring]) -> [Substring]
  ) -> TargetRule {
    TargetRule { uri in
      // By octets: as a `Character`, a separator with a combining mark behind it is another one.
      let bytes = uri.path.utf8
      guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return uri }
      let parameters = rewrite(
        bytes[bytes.index(after: mark)...]
          .split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { Substring($0) })
      let path = uri.path[..<mark]
      return TargetURI(
        scheme: uri.scheme, authority: uri.authority,
        path: parameters.isEmpty ? String(path) : path + "?" + parameters.joined(separator: "&"))
    }
  }
}
