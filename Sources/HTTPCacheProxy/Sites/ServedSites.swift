// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching
import HTTPTypes
import Synchronization
import TransportSecurity

/// The sites that a proxy serves, which may change.
final class ServedSites: Sendable {
  /// The sites at one time.
  final class Table: Sendable {
    /// In the order of the configuration.
    let sites: [ServedSite]
    let scopes: SiteTable
    /// For each site, the authority of a request of HTTP/1.0 that has none: that of its origin.
    fileprivate let authorities: [String]
    /// The only site, if it has no name and all requests belong to it.
    fileprivate let only: ServedSite?
    /// Counts what belongs to no site.
    let unassigned: ServedSite

    fileprivate init(
      _ sites: [ServedSite], _ scopes: SiteTable, authorities: [String], nowhere: ServedSite
    ) {
      (self.sites, self.scopes, self.authorities) = (sites, scopes, authorities)
      only = sites.count == 1 && scopes.isForAll && sites[0].name.isEmpty ? sites[0] : nil
      unassigned = only ?? nowhere
    }

    /// The position of the site with a name, byte for byte.
    subscript(name: some StringProtocol) -> Int? {
      sites.firstIndex { $0.name.utf8.elementsEqual(name.utf8) }
    }

    /// Returns the site of a request, or what counts for none.
    func site(of request: HTTPRequest?) -> ServedSite {
      guard only == nil, let request else { return unassigned }
      let candidates = scopes.candidates(ofAuthority: request.authority ?? "")
      return candidates.scope(ofPath: request.path ?? "/").map { sites[$0] } ?? unassigned
    }

    /// The sites, and what counts the requests of none.
    var counted: [ServedSite] { only == nil ? sites + [unassigned] : sites }
  }

  private struct State {
    var table: Table
    /// Sites that the configuration has no more, and that may still have requests.
    var retired: [ServedSite] = []
    var isClosed = false
  }

  private let state: Mutex<State>
  /// One change at a time, so that the last one wins.
  private let changing = Mutex(())
  /// How often the sites have changed. A connection compares it for each request, instead of taking the lock.
  private let version = Atomic(0)
  private let settings: CurrentConfiguration
  private let surroundings: ServedSite.Surroundings
  /// Without servers.
  private let nowhere: ServedSite

  /// - Parameter unassigned: the counts of what belongs to no site.
  init(
    _ settings: CurrentConfiguration, _ surroundings: ServedSite.Surroundings, unassigned: SiteStatistics
  ) {
    (self.settings, self.surroundings) = (settings, surroundings)
    let nothing = OriginSettings(origin: .init([]), heads: .init(), pseudonym: "")
    let nowhere = ServedSite("", nothing, surroundings, statistics: unassigned)
    self.nowhere = nowhere
    state = Mutex(State(table: Table([], SiteTable(), authorities: [], nowhere: nowhere)))
    update()
  }

  var table: Table { state.withLock { $0.table } }

  fileprivate var count: Int { version.load(ordering: .acquiring) }

  /// Takes the sites of the configuration. One with the name of an earlier site keeps its counts and its connections. A site that
  /// the configuration has no more finishes its requests.
  func update() {
    changing.withLock { _ in
      let (new, scheme, known) = (settings.sites, settings.value.clientScheme, table.sites)
      let byName = Dictionary(uniqueKeysWithValues: known.map { ($0.name, $0) })
      let sites = new.map { site, origin in
        byName[site.name] ?? ServedSite(site.name, origin, surroundings)
      }
      let authorities = new.map { site, _ in
        Authority.normalized(site.origin.authority, scheme: scheme) ?? site.origin.authority
      }
      let table = Table(
        sites, SiteTable(new.map(\.site.scope)), authorities: authorities, nowhere: nowhere)
      let kept = Set(sites.map { ObjectIdentifier($0) })
      let gone = known.filter { !kept.contains(ObjectIdentifier($0)) }
      let isClosed = state.withLock { state in
        if !state.isClosed {
          state.table = table
          state.retired += gone
        }
        return state.isClosed
      }
      if isClosed { return }
      for (site, origin) in zip(sites, new) where byName[site.name] != nil {
        site.origin.update(origin.origin)
      }
      for site in gone { site.origin.retire() }
      version.wrappingAdd(1, ordering: .releasing)
    }
  }

  /// Reads the counters, and forgets what has ended; called every few seconds.
  func look() {
    let table = state.withLock { state in
      state.retired.removeAll { $0.origin.isUnused }
      return state.table
    }
    for site in table.counted { site.recent.note(Figures(site.statistics)) }
  }

  /// Closes all connections to origins, even in use.
  func close() async {
    let sites = state.withLock { state in
      state.isClosed = true
      return state.table.sites + state.retired
    }
    await withTaskGroup { group in
      for site in sites { group.addTask { await site.origin.close() } }
    }
  }
}

/// Finds the sites of the requests on a connection, nearly all of which name one host.
struct SiteFinder {
  private let sites: ServedSites
  private var version = 0
  private var table: ServedSites.Table
  private var authority: String?
  private var candidates = SiteTable.Candidates()
  /// The hosts that the connection is for; `nil` for all.
  private let names: ServerNames?
  /// The last authority that is among them.
  private var named: String?

  init(_ sites: ServedSites, _ names: ServerNames? = nil) {
    (self.sites, self.names) = (sites, names)
    // In this order: a change in between is found with the next request.
    version = sites.count
    table = sites.table
  }

  private mutating func position(of request: HTTPRequest) -> Int? {
    let authority = request.authority ?? ""
    if authority != self.authority {
      (self.authority, candidates) = (authority, table.scopes.candidates(ofAuthority: authority))
    }
    return candidates.scope(ofPath: request.path ?? "/")
  }

  /// Sets the site of a request, if it belongs to one.
  ///
  /// - Parameter setsAuthority: whether a request without an authority, of HTTP/1.0, gets that of the origin.
  mutating func assign(_ request: inout ClientRequest, setsAuthority: Bool) {
    if let names, let authority = request.request.authority, authority != named, !authority.isEmpty {
      guard names.contain(authority.utf8.prefix { $0 != 0x3A }) else {
        request.isMisdirected = true
        return
      }
      named = authority
    }
    if sites.count != version { self = SiteFinder(sites, names) }
    guard let position = table.only == nil ? position(of: request.request) : 0 else { return }
    request.site = table.sites[position]
    if setsAuthority, request.request.authority?.isEmpty != false {
      request.request.authority = table.authorities[position]
    }
  }
}

extension ClientRequest {
  /// Throws ``MessageFault`` if the request must belong to a site, and does not, or has come on a connection for another host.
  func checkSite() throws(MessageFault) {
    if isMisdirected {
      throw MessageFault(421, "the certificate of this connection is not for this host (RFC 9110 §7.4)")
    }
    // What a purge concerns is in its fields, too.
    guard site == nil, request.method.rawValue != "PURGE" else { return }
    throw MessageFault(421, "no site is configured for this host and path (RFC 9110 §15.5.20)")
  }
}
