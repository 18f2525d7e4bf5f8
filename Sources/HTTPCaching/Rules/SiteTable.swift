// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// The hosts and the paths that belong to a site.
package struct SiteScope: Hashable, Sendable {
  /// `www.example.com`, or `*.example.com` for all that end so; empty for all hosts.
  package var hosts: [String]
  /// The first segments of paths: `/api` for itself and for all that begin with `/api/`; empty for all paths.
  package var paths: [String]

  package init(hosts: [String] = [], paths: [String] = []) {
    (self.hosts, self.paths) = (hosts, paths)
  }

  /// Whether it has all requests that no other scope has.
  package var isForTheRest: Bool { hosts.isEmpty && paths.isEmpty }
}

/// Finds the scope of a request: that of its host, or else of the longest end of it, or else of all hosts. Among those with the
/// same hosts, the longest path decides.
///
/// A path is compared as most origins read it: see ``RulePath/resolved(_:)``.
package struct SiteTable: Hashable, Sendable {
  /// What is compared for a scope.
  fileprivate struct Place: Hashable, Sendable {
    let path: [UInt8]
    let scope: Int
  }

  /// In their order.
  let scopes: [SiteScope]
  private var exact: [ArraySlice<UInt8>: [Place]] = [:]
  /// By what follows the star, from its dot on.
  private var endings: [ArraySlice<UInt8>: [Place]] = [:]
  private var others: [Place] = []

  package init(_ scopes: [SiteScope] = []) {
    self.scopes = scopes
    var places: [String: [Place]] = [:]
    for (index, scope) in scopes.enumerated() {
      let paths = scope.paths.isEmpty ? [""] : scope.paths
      for host in scope.hosts.isEmpty ? [""] : scope.hosts {
        places[host.lowercasedASCII, default: []] += paths.map { path in
          let plain = RulePath.plain(Array(path.utf8).span)
          return Place(path: plain.last == UInt8(ascii: "/") ? plain.dropLast() : plain, scope: index)
        }
      }
    }
    for (host, unsorted) in places {
      let (host, sorted) = (Array(host.utf8), unsorted.sorted { $0.path.count > $1.path.count })
      switch host.first {
      case nil: others = sorted
      case UInt8(ascii: "*"): endings[host.dropFirst()] = sorted
      default: exact[host[...]] = sorted
      }
    }
  }

  package static func == (left: Self, right: Self) -> Bool { left.scopes == right.scopes }
  package func hash(into hasher: inout Hasher) { hasher.combine(scopes) }

  /// Whether the only scope has all requests.
  package var isForAll: Bool { scopes.count == 1 && scopes[0].isForTheRest }

  /// The scopes that a host may be in.
  package struct Candidates: Sendable {
    /// In the order in which they are compared.
    fileprivate var places: [Place] = []

    /// No scopes.
    package init() {}

    fileprivate mutating func add(_ more: [Place]?) {
      // Nearly all hosts are in one list, which is not copied.
      if let more { if places.isEmpty { places = more } else { places += more } }
    }

    /// Returns the position of the scope; `nil` if no scope has the path.
    ///
    /// - Parameter path: with or without its query.
    package func scope(ofPath path: String) -> Int? {
      guard let first = places.first else { return nil }
      if first.path.isEmpty { return first.scope }
      return path.withFieldBytes { bytes in
        if let end = bytes.endOfPlainPath { return scope(of: bytes.extracting(0..<end)) }
        return scope(of: RulePath.resolved(bytes).span)
      }
    }

    private func scope(of path: Span<UInt8>) -> Int? {
      places.first { place in
        guard path.begins(with: place.path.span) else { return false }
        return path.count == place.path.count || place.path.isEmpty
          || path[place.path.count] == UInt8(ascii: "/")
      }?.scope
    }
  }

  /// - Parameter authority: the host, with or without a port; empty for a request without one.
  /// - Complexity: O(*n*) in the number of labels of the host.
  package func candidates(ofAuthority authority: String) -> Candidates {
    let count = authority.withFieldBytes { $0.hostCount }
    let host = authority.utf8.prefix(count).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    var candidates = Candidates()
    candidates.add(exact[host[...]])
    if !endings.isEmpty {
      // The longest end first.
      for dot in host.indices.dropFirst() where host[dot] == UInt8(ascii: ".") {
        candidates.add(endings[host[dot...]])
      }
    }
    if !others.isEmpty { candidates.add(others) }
    return candidates
  }

  /// Returns the position of a request's scope; `nil` if no scope has it.
  func scope(ofAuthority authority: String, path: String) -> Int? {
    candidates(ofAuthority: authority).scope(ofPath: path)
  }

  /// What is wrong with one of the scopes, and its position; `nil` if nothing is.
  ///
  /// - Parameter names: how each scope is named.
  package func fault(_ names: [String]) -> (scope: Int, text: String)? {
    var owners: [String: Int] = [:]
    for (index, scope) in scopes.enumerated() {
      for host in scope.hosts {
        if let fault = CacheRule.fault(ofHost: host) { return (index, "\(names[index]): \(fault)") }
      }
      for path in scope.paths {
        if let fault = Self.fault(ofPath: path) { return (index, "\(names[index]): \(fault)") }
      }
      for host in scope.hosts.isEmpty ? ["*"] : scope.hosts {
        for path in scope.paths.isEmpty ? [""] : scope.paths {
          let place =
            host.lowercasedASCII + (path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path)
          if let owner = owners.updateValue(index, forKey: place) {
            return (
              index,
              owner == index
                ? "\(names[index]): '\(place)' is there twice; remove one"
                : "\(names[index]): '\(place)' belongs to \(names[owner]) already"
            )
          }
        }
      }
    }
    return nil
  }

  private static func fault(ofPath path: String) -> String? {
    let segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    // The path begins with a slash, and may end with one.
    guard segments.count > 1, segments[0].isEmpty,
      segments.dropFirst().dropLast(segments.last?.isEmpty == true ? 1 : 0).allSatisfy({ segment in
        !segment.isEmpty && !segment.elementsEqual(".".utf8) && !segment.elementsEqual("..".utf8)
      }), path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !"*#?%;\\".utf8.contains($0) })
    else {
      return "path: expected the first segments of paths, such as /api for /api and /api/*, found '\(path)'"
    }
    return nil
  }
}
