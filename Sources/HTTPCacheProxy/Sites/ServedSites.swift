// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching
import HTTPTypes
import Synchronization

/// The sites that a proxy serves, which may change.
final class ServedSites: Sendable {
  /// The sites at one time.
  struct Table: Sendable {
    /// In the order of the configuration.
    var sites: [ServedSite] = []
    var scopes = SiteTable()
    /// The site of all requests, if there is only one.
    var only: ServedSite?
    /// The authority of requests without one, of HTTP/1.0: that of the site for the rest; empty if there is none.
    var authority = ""
    /// What requests count for that belong to no site: the one for the rest; or one without a name.
    var unassigned: ServedSite

    subscript(name: String) -> Int? { sites.firstIndex { $0.name == name } }
  }

  private struct State {
    var table: Table
    /// Sites that the configuration has no more, and that may still have requests.
    var retired: [ServedSite] = []
  }

  private let state: Mutex<State>
  /// How often the sites have changed. A connection compares it for each request, instead of taking the lock.
  private let version = Atomic(0)
  private let settings: CurrentConfiguration
  private let surroundings: ServedSite.Surroundings
  /// Without servers.
  private let nowhere: ServedSite

  init(_ settings: CurrentConfiguration, _ surroundings: ServedSite.Surroundings) {
    (self.settings, self.surroundings) = (settings, surroundings)
    let nothing = OriginSettings(origin: .init([]), heads: .init(), name: settings.value.name)
    let nowhere = ServedSite("", nothing, surroundings)
    self.nowhere = nowhere
    state = Mutex(State(table: Table(unassigned: nowhere)))
    update()
  }

  var table: Table { state.withLock { $0.table } }

  fileprivate var count: Int { version.load(ordering: .acquiring) }

  /// Takes the sites of the configuration. Those with a name that was there before keep their counts and their connections;
  /// those without one finish their requests.
  func update() {
    let (new, scheme) = (settings.sites, settings.value.clientScheme)
    let (changed, gone) = state.withLock { state in
      let known = state.table.sites
      var changed: [(ServedSite, OriginSettings)] = []
      state.table.sites = new.map { site, origin in
        guard let same = known.first(where: { $0.name == site.name }) else {
          return ServedSite(site.name, origin, surroundings)
        }
        changed.append((same, origin))
        return same
      }
      let sites = state.table.sites
      state.table.scopes = SiteTable(new.map(\.site.scope))
      state.table.only = new.count == 1 && new[0].site.scope.isForTheRest ? sites[0] : nil
      let forTheRest = new.firstIndex { $0.site.scope.isForTheRest }
      state.table.unassigned = forTheRest.map { sites[$0] } ?? nowhere
      let authority = forTheRest.map { new[$0].site.origin.authority } ?? ""
      state.table.authority = Authority.normalized(authority, scheme: scheme) ?? authority
      let gone = known.filter { old in !sites.contains { $0 === old } }
      state.retired = state.retired.filter { !$0.origin.isUnused } + gone
      return (changed, gone)
    }
    for (site, origin) in changed { site.origin.update(origin) }
    for site in gone { site.origin.retire() }
    version.wrappingAdd(1, ordering: .releasing)
  }

  /// Closes all connections to origins, even in use.
  func close() async {
    let sites = state.withLock { $0.table.sites + $0.retired }
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

  init(_ sites: ServedSites) {
    self.sites = sites
    // In this order: a change in between is found with the next request.
    version = sites.count
    table = sites.table
  }

  private mutating func refresh() {
    if sites.count != version { self = SiteFinder(sites) }
  }

  /// The authority of requests that have none.
  var defaultAuthority: String {
    mutating get {
      refresh()
      return table.authority
    }
  }

  /// Returns the site of a request.
  ///
  /// - Throws: ``MessageFault`` if there is none.
  mutating func site(of request: HTTPRequest) throws(MessageFault) -> ServedSite {
    refresh()
    if let only = table.only { return only }
    let authority = request.authority ?? ""
    if authority != self.authority {
      (self.authority, candidates) = (authority, table.scopes.candidates(ofAuthority: authority))
    }
    if let index = candidates.scope(ofPath: request.path ?? "/") { return table.sites[index] }
    // What a purge concerns is in its fields, too.
    if request.method == .purge { return table.unassigned }
    throw MessageFault(421, "no site is configured for this host and path (RFC 9110 §15.5.20)")
  }
}
