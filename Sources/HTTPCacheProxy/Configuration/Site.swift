// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

extension ProxyConfiguration {
  /// Hosts, or some paths of them, that have an origin of their own.
  ///
  /// A request belongs to the site with its host; otherwise to the one with the longest end of it, as in `*.example.com`; otherwise
  /// to one without hosts. Of several, the longest path decides. Requests that belong to no site get 421 (Misdirected Request,
  /// RFC 9110 §15.5.20).
  public struct Site: Hashable, Sendable {
    /// The name in metrics, logs and purges; empty for the only site of a proxy.
    public var name: String
    /// Hosts without a port: `www.example.com`, or `*.example.com` for all that end so; empty for those of no other site
    /// (default: empty).
    public var hosts: [String]
    /// First segments of paths: `/api` for itself and for all that begin with `/api/`; empty for all paths (default: empty). They
    /// are compared after percent-decoding, and without `.` segments and repeated slashes, as origins read them.
    public var paths: [String]
    /// Where the responses come from that the cache does not have.
    public var origin: Origin

    /// - Parameters:
    ///   - name: the name in metrics, logs and purges.
    ///   - hosts: see ``hosts``.
    ///   - paths: see ``paths``.
    ///   - origin: where the responses come from.
    public init(name: String, hosts: [String] = [], paths: [String] = [], origin: Origin) {
      (self.name, self.hosts, self.paths, self.origin) = (name, hosts, paths, origin)
    }

    package var scope: SiteScope { SiteScope(hosts: hosts, paths: paths) }

    /// The host that the proxy itself asks for; `nil` if the site has none in full.
    var host: String? { hosts.first { $0.utf8.first != UInt8(ascii: "*") } }

    /// Whether a name can be that of a site in metrics and parameters.
    package static func isName(_ text: String) -> Bool {
      (1...100).contains(text.utf8.count)
        && text.utf8.allSatisfy { byte in
          switch byte {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
          default: "-._*/".utf8.contains(byte)
          }
        }
    }

    /// Throws ``ProxyConfiguration/ValidationError`` for sites between which a request could not choose.
    static func validate(_ sites: [Site]) throws {
      guard !sites.isEmpty else {
        throw ProxyConfiguration.ValidationError("sites: expected at least one, found none")
      }
      var names: Set<String> = []
      for site in sites {
        guard isName(site.name) || site.name.isEmpty && sites.count == 1 else {
          throw ProxyConfiguration.ValidationError(
            "sites: expected a name of letters, digits and -._*/, found '\(site.name)'")
        }
        guard names.insert(site.name).inserted else {
          throw ProxyConfiguration.ValidationError("sites: two sites have the name \(site.name)")
        }
      }
      let shown = sites.map { $0.name.isEmpty ? "the only site" : $0.name }
      if let fault = SiteTable(sites.map(\.scope)).fault(shown) {
        throw ProxyConfiguration.ValidationError("sites: \(fault.text)")
      }
      for site in sites {
        do {
          try site.origin.validate()
        } catch let error as ProxyConfiguration.ValidationError where !site.name.isEmpty {
          throw ProxyConfiguration.ValidationError("sites: \(site.name): \(error)")
        }
      }
    }
  }
}
