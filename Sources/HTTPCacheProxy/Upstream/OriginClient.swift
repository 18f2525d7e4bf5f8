// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheEngine
import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import Logging
import NIOCore

/// Sends requests to the servers of an origin: ``OriginBalancer`` chooses one, and a request that it does not answer goes to
/// the next, as far as that is harmless.
final class OriginClient: Sendable {
  private struct Member {
    let server: OriginServer
    var weight: Int
    var isBackup: Bool
  }

  private struct State {
    var members: [Member] = []
    /// Servers that the origin has no more, and that may still have requests.
    var retired: [OriginServer] = []
    var balancer = OriginBalancer()
    var isClosed = false
  }

  private let settings: CurrentOrigin
  private let makeServer: @Sendable (ProxyConfiguration.Origin.Server) -> OriginServer
  private let statistics: SiteStatistics
  private let state = Mutex(State())
  private let available: AvailableServers

  /// - Parameters:
  ///   - transit: the budget that counts content from its arrival until its readers take it.
  ///   - lookup: finds the addresses of the servers.
  init(
    _ settings: OriginSettings, group: any EventLoopGroup, statistics: SiteStatistics,
    transit: TransitBudget, logger: Logger, lookup: @escaping HostLookup = systemHostLookup
  ) {
    let current = CurrentOrigin(settings)
    self.settings = current
    self.statistics = statistics
    let available = AvailableServers()
    self.available = available
    makeServer = { server in
      OriginServer(
        server.location, current, among: available, group: group, statistics: statistics, transit: transit,
        logger: logger, lookup: lookup)
    }
    setServers(settings.origin.servers)
  }

  // MARK: - Servers

  /// Changes the settings. Servers that the origin has no more finish their requests, and get none.
  func update(_ settings: OriginSettings) {
    let old = self.settings.value.origin
    self.settings.value = settings
    let new = settings.origin
    // With encryption, files may have changed.
    setServers(
      new.servers, retiresConnections: old.tls != nil || new.tls != nil || old.http2 != new.http2)
  }

  private func setServers(
    _ servers: [ProxyConfiguration.Origin.Server], retiresConnections: Bool = false
  ) {
    let (kept, gone): ([OriginServer], [OriginServer]) = state.withLock { state in
      if state.isClosed { return ([], []) }
      let known = state.members.map(\.server)
      state.members = servers.map { server in
        Member(
          server: known.first { $0.location == server.location } ?? makeServer(server),
          weight: server.weight, isBackup: server.isBackup)
      }
      let now = state.members.map(\.server)
      let gone = known.filter { old in !now.contains { $0 === old } }
      state.retired = state.retired.filter { !$0.isUnused } + gone
      return (known.filter { old in now.contains { $0 === old } }, gone)
    }
    for server in kept { server.settingsChanged(retiresConnections: retiresConnections) }
    for server in gone { server.retire() }
  }

  var servers: [OriginServer] { state.withLock { $0.members.map(\.server) } }

  /// Ends the use of the origin after the requests that have begun.
  func retire() { for server in servers { server.retire() } }

  /// Whether no server has a connection or a request.
  var isUnused: Bool { state.withLock { ($0.members.map(\.server) + $0.retired).allSatisfy(\.isUnused) } }

  /// Chooses the server of a request.
  ///
  /// - Parameters:
  ///   - tried: the servers that have not answered it.
  ///   - needsRoom: whether it must not wait for a connection.
  /// - Returns: `nil` if none that was not tried gets requests. The first attempt always has a server, which says why.
  private func server(besides tried: [OriginServer] = [], needsRoom: Bool = false) -> OriginServer? {
    state.withLock { state in
      guard let first = state.members.first, !state.isClosed else { return nil }
      if state.members.count == 1, tried.isEmpty { return first.server }
      let candidates = state.members.map { member in
        var candidate = member.server.candidate
        (candidate.weight, candidate.isBackup) = (member.weight, member.isBackup)
        candidate.isTried = tried.contains { $0 === member.server } || needsRoom && candidate.isFull
        return candidate
      }
      let chosen = state.balancer.choose(from: candidates)
      return chosen.map { state.members[$0].server } ?? (tried.isEmpty ? first.server : nil)
    }
  }

  /// The error of requests that are not sent because no server is available; `nil` while one is.
  private var outage: OriginError? {
    guard available.count == 0 else { return nil }
    return servers.lazy.compactMap(\.outage).first
  }

  /// Whether at least one server answers, as far as the last requests and probes show.
  var isAvailable: Bool { available.count > 0 }

  /// Decides whether a request is withheld: while no server is available, if a stored response may answer it. All others are
  /// sent, although they will probably fail.
  ///
  /// - Parameter hasFallback: whether a stored response may answer.
  /// - Returns: the error that the request then ends with.
  func withhold(_ hasFallback: () -> Bool) -> OriginError? {
    guard let outage, hasFallback() else { return nil }
    outage.count(in: statistics)
    return outage
  }

  // MARK: - Requests

  func send(_ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall) async throws -> TransportResponse
  {
    try await call.response { send(request, body, call, for: $0) }
  }

  /// Sends a request. On an event loop that has an idle connection, all of it happens there, without a task.
  func send(_ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall, for caller: OriginCall.Caller) {
    call.begin(for: caller)
    guard let server = server() else { return call.end(.failure(Self.stopped)) }
    call.begins(at: server)
    server.send(request, call.keeping(body, server.transit), call)
  }

  /// Sends a request that a server has not answered to the next one.
  ///
  /// - Parameter cause: why it has not, or why its response does not count.
  /// - Returns: whether it was sent.
  func sendAgain(
    _ request: HTTPRequest, _ body: MessageBody, _ call: OriginCall, after cause: OriginError
  ) -> Bool {
    guard
      let next = next(
        call, after: cause, isRepeatable: Invalidation.isSafe(request.method) && body.isInMemory)
    else { return false }
    next.send(request, body, call)
    return true
  }

  /// Asks a server to switch to another protocol.
  func upgrade(
    _ request: HTTPRequest, to protocols: String, _ call: OriginCall
  ) async throws -> OriginServer.UpgradeResult {
    guard var server = server() else { throw Self.stopped }
    call.begins(at: server)
    while true {
      do {
        return try await server.upgrade(request, to: protocols, call)
      } catch let error as OriginError {
        guard !Task.isCancelled, let next = next(call, after: error, isRepeatable: false) else {
          error.count(in: statistics)
          throw error
        }
        server = next
      }
    }
  }

  /// Chooses the next server of a request.
  ///
  /// - Parameter isRepeatable: whether the last server may have got the request.
  private func next(_ call: OriginCall, after cause: OriginError, isRepeatable: Bool) -> OriginServer? {
    guard cause.allowsNextServer(isRepeatable: isRepeatable, mayHaveArrived: call.mayHaveArrived),
      call.hasContent, !call.isCancelled
    else { return nil }
    let tried = call.servers
    guard let last = tried.last, tried.count < settings.value.origin.limits.attempts,
      let next = server(besides: tried, needsRoom: cause.kind == .connectionLimitReached)
    else { return nil }
    call.goes(to: next)
    statistics.originFailovers.increment()
    last.wasLeft(after: cause)
    return next
  }

  private static var stopped: OriginError {
    OriginError(.destinationUnavailable, "the proxy has stopped")
  }

  // MARK: - Health

  /// Whether a server responded recently; `nil` if that is unknown of all, or of some while the others do not.
  var knownHealth: OriginHealth.State? {
    let states = servers.map(\.knownHealth)
    return states.contains(.ready) ? .ready : states.contains(nil) ? nil : states.first ?? nil
  }

  /// Whether a server responded recently. If that is unknown, connects to it.
  func health() async -> OriginHealth.State {
    let servers = servers
    if servers.contains(where: { $0.knownHealth == .ready }) { return .ready }
    return await withTaskGroup { group in
      for server in servers { group.addTask { await server.health() } }
      var states: [OriginHealth.State] = []
      for await state in group { states.append(state) }
      return states.contains(.ready) ? .ready : states.first ?? .unreachable(.destinationUnavailable)
    }
  }

  /// The state of the servers, as the admin port shows it.
  var figures: [OriginServer.Figures] { servers.map(\.figures) }

  /// Closes all connections, even in use, and makes no more.
  func close() async {
    let servers = state.withLock { state in
      state.isClosed = true
      return state.members.map(\.server) + state.retired
    }
    await withTaskGroup { group in
      for server in servers { group.addTask { await server.close() } }
    }
  }
}
