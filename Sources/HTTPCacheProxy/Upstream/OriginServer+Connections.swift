// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import NIOCore
import NIOPosix
import TransportSecurity

extension OriginServer {
  /// Finds a connection for a request: an idle one of its event loop that was used last, or of another loop, or a new one.
  ///
  /// - Parameters:
  ///   - needsNew: whether the request needs a connection that no other has used.
  ///   - isAgain: whether the request was lost on a connection.
  ///   - waiter: makes the function that gets the result if the request must wait.
  /// - Returns: `nil` if the request waits.
  func admit(
    _ request: HTTPRequest, _ call: OriginCall, needsNew: Bool, isAgain: Bool = false, waiter: () -> Waiter
  ) -> Result<Grant, any Error>? {
    let (now, loop) = (self.now, ObjectIdentifier(call.loop))
    let admission: Result<Pool.Admission, OriginError> = state.withLock { state in
      // The event loops may be gone, and would never answer.
      if state.isClosed { return .failure(OriginError(.destinationUnavailable, "the proxy has stopped")) }
      state.breaker.authority = request.authority
      return .success(
        state.pool.request(
          needsNew: needsNew, isAgain: isAgain, on: loop, at: now, waiter: waiter))
    }
    switch admission {
    case .failure(let error): return .failure(error)
    case .success(let admission):
      for connection in admission.closing { connection.close() }
      if let timer = admission.timer { expire(at: timer) }
      switch admission.decision {
      case .grant(let grant): return .success(grant)
      case .wait(let ticket):
        if call.waits(ticket, at: self) { leave(ticket) }
        return nil
      case .refuse:
        return .failure(
          limitReached("\(settings.value.origin.limits.queue) requests wait for a connection to the origin"))
      }
    }
  }

  /// Removes a request whose client has left from those that wait for a connection.
  func leave(_ ticket: Int) {
    state.withLock { $0.pool.leave(ticket) }?(.failure(CancellationError()))
  }

  private func expire(at deadline: NIODeadline) {
    group.any().scheduleTask(deadline: deadline) { [weak self] in self?.expire() }
  }

  private func expire() {
    let (late, next) = state.withLock { $0.pool.expire(at: now) }
    if let next { expire(at: next) }
    if late.isEmpty { return }
    let error = limitReached(
      "no connection to the origin became free within \(settings.value.origin.timeouts.queue)")
    for waiter in late { waiter(.failure(error)) }
  }

  private func limitReached(_ text: String) -> OriginError {
    OriginError(
      .connectionLimitReached, text, reach: .unsent,
      retryAfter: settings.value.origin.timeouts.queue.timeAmount.wholeSeconds)
  }

  /// - Parameter changes: the number of ``State/changes`` when the connection was made.
  private func checkIn(_ connection: OriginConnection.Handle, _ changes: Int) {
    let (now, link) = (self.now, OriginLink.http1(connection))
    let isGone = isGone(link)
    perform(
      state.withLock { state in
        state.isClosed || state.changes != changes || isGone
          ? Pool.Outcome(closing: [link]) : state.pool.returned(link, at: now)
      })
  }

  /// Records what a connection of HTTP/2 has reported.
  private func handle(_ event: OriginHTTP2Connection.Event, _ connection: OriginHTTP2Connection.Handle) {
    let (now, link) = (self.now, OriginLink.http2(connection))
    perform(
      state.withLock { state in
        switch event {
        case .limit(let limit): return state.pool.limitChanged(of: link, to: limit, at: now)
        case .requestEnded: return state.pool.requestEnded(on: link, at: now)
        case .retired: return Pool.Outcome(closing: state.pool.retire(link) ? [link] : [])
        case .idleForLong: return Pool.Outcome(closing: state.pool.retireIdle(link) ? [link] : [])
        }
      })
  }

  /// Removes an idle connection that was closed.
  private func forget(_ channel: any Channel) {
    // Released outside the lock.
    _ = state.withLock { $0.pool.forget { $0.channel === channel } }
  }

  /// Makes a connection that has a place in the pool, and releases that if it fails, or when the connection is closed.
  ///
  /// - Parameters:
  ///   - isAwaited: whether other requests may wait for the connection.
  ///   - mayBecomeTunnel: whether each direction may end by itself. Then it is one of HTTP/1.1.
  ///   - servesOne: whether it is closed after a request.
  func connect(
    on loop: any EventLoop, isAwaited: Bool, mayBecomeTunnel: Bool = false, servesOne: Bool = false
  ) async throws -> OriginLink {
    let awaiting = isAwaited ? ObjectIdentifier(loop) : nil
    let changes = servesOne ? -1 : state.withLock { $0.changes }
    do throws(OriginError) {
      let link = try await open(
        on: loop, within: settings.value.origin.timeouts.connect, changes, mayBecomeTunnel: mayBecomeTunnel)
      // On its event loop, so that the connection reports nothing before the pool knows it.
      loop.execute { [self] in
        opened(link, changes, by: awaiting, mayBecomeTunnel: mayBecomeTunnel)
        // Not of each channel that is made: a name with several addresses makes several for one connection.
        link.channel.closeFuture.whenComplete { [weak self] _ in self?.closed(link) }
      }
      return link
    } catch {
      let now = self.now
      perform(state.withLock { $0.pool.failed(on: awaiting, at: now) }, error)
      throw error
    }
  }

  private func opened(
    _ link: OriginLink, _ changes: Int, by loop: ObjectIdentifier?, mayBecomeTunnel: Bool
  ) {
    let now = self.now
    watchAddresses()
    perform(
      state.withLock { state in
        switch link {
        case .http1: return state.pool.opened(mayBecomeTunnel ? .unasked : .exclusive, on: loop, at: now)
        case .http2(let handle):
          let connection = handle.connection.value
          let isRetired = connection.isRetired || state.changes != changes
          return state.pool.opened(
            .shared(link, limit: connection.limit, isRetired: isRetired), on: loop, at: now)
        }
      })
  }

  private func closed(_ link: OriginLink) {
    let now = self.now
    perform(state.withLock { $0.pool.closed(link, at: now) })
  }

  /// Makes a connection, encrypted if the origin wants it.
  ///
  /// - Parameter time: the time for the connection and the handshake.
  func open(
    on loop: any EventLoop, within time: Duration, _ changes: Int, mayBecomeTunnel: Bool
  ) async throws(OriginError) -> OriginLink {
    let settings = settings.value
    let encryption = mayBecomeTunnel ? settings.tunnelEncryption : settings.encryption
    let (limits, deadline) = (settings.heads, loop.now + time.timeAmount)
    var timeouts = settings.origin.timeouts
    timeouts.idle = timeouts.idleTime(isEncrypted: encryption != nil)
    let (transit, channels) = (transit, channels)
    let bootstrap = ClientBootstrap(group: loop)
      .connectTimeout(time.timeAmount)
      .channelOption(.autoRead, value: false)
      .channelOption(.allowRemoteHalfClosure, value: mayBecomeTunnel)
      // A feed that has room for one read must not get more.
      .channelOption(.maxMessagesPerRead, value: 1)
    do {
      let opening = try await connect(bootstrap, on: loop) { [timeouts] channel in
        channel.eventLoop.makeCompletedFuture {
          guard channels.add(channel) else { throw ChannelError.ioOnClosedChannel }
          let reads = ReadBuffer.current
          try channel.syncOptions?.setOption(
            .recvAllocator, value: TransitReadAllocator(transit: transit, shared: reads, first: 4 << 10))
          func install(_ version: HTTPVersion) throws -> EventLoopFuture<OriginLink> {
            guard version != .http2 else {
              return try OriginHTTP2Connection.add(
                to: channel, by: deadline, limits: limits, timeouts: timeouts, transit: transit,
                scheme: encryption == nil ? "http" : "https"
              ) { [weak self] (connection, event) in
                guard let self else { return connection.channel.close(promise: nil) }
                self.handle(event, connection)
              }.map { OriginLink.http2($0) }
            }
            let connection = OriginConnection(
              channel: channel, limits: limits, timeouts: timeouts, transit: transit, reads: reads,
              onIdle: { [weak self] in
                if let self { self.checkIn($0, changes) } else { $0.reference.close() }
              },
              onEnd: { [weak self] in self?.forget($0) })
            try channel.pipeline.syncOperations.addHandler(connection)
            return channel.eventLoop.makeSucceededFuture(.http1(connection.handle()))
          }
          guard let encryption else {
            let isHTTP2 = settings.origin.http2 == .always && !mayBecomeTunnel
            return try install(isHTTP2 ? .http2 : .http11)
          }
          // Before the first bytes after the handshake.
          return try encryption.encrypt(channel, to: self.host, by: deadline).assumeIsolated()
            .flatMapThrowing { try install($0.protocolName == "h2" ? .http2 : .http11) }
            .nonisolated().flatMap { $0 }
        }
      }
      return try await opening.get()
    } catch {
      throw OriginError(connectingTo: description, within: time, error)
    }
  }

  /// The name that the certificate of the server must have, unless another one is set.
  private var host: String {
    if case .address(let address) = location { address.host } else { "" }
  }

  private func connect<Output: Sendable>(
    _ bootstrap: ClientBootstrap, on loop: any EventLoop,
    _ initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
  ) async throws -> Output {
    switch location {
    case .unix(let path):
      return try await bootstrap.connect(unixDomainSocketPath: path, channelInitializer: initialize)
    case .address(let address):
      guard let addresses else {
        let literal = try SocketAddress(ipAddress: address.host, port: address.port)
        return try await bootstrap.connect(to: literal, channelInitializer: initialize)
      }
      return try await bootstrap.resolver(addresses.resolver(on: loop, within: resolveTime))
        .connect(host: address.host, port: address.port, channelInitializer: initialize)
    }
  }

  // MARK: - Addresses

  /// Whether the server no longer has the address that a connection goes to.
  private func isGone(_ link: OriginLink) -> Bool {
    guard let addresses, let address = link.channel.remoteAddress else { return false }
    return !addresses.contains(address)
  }

  private var resolveTime: TimeAmount {
    Swift.max(.milliseconds(1), settings.value.origin.timeouts.resolve.timeAmount)
  }

  /// Resolves the name of the server again and again while it has connections: they may last very long, and new ones would
  /// then never be made.
  private func watchAddresses() {
    guard let addresses else { return }
    let begins = state.withLock { state in
      defer { state.isWatched = true }
      return !state.isWatched && !state.isClosed
    }
    if begins { scheduleLook(at: addresses) }
  }

  private func scheduleLook(at addresses: OriginAddresses) {
    let loop = group.any()
    loop.scheduleTask(in: resolveTime) { [weak self] in
      guard let self else { return }
      Task {
        await addresses.refresh(on: loop)
        self.retireGone()
      }
    }
  }

  private func retireGone() {
    guard let addresses else { return }
    let (closing, goesOn): ([OriginLink], Bool) = state.withLock { state in
      state.isWatched = state.pool.connections > 0 && !state.isClosed
      return (state.pool.retire { isGone($0) }, state.isWatched)
    }
    for link in closing { link.close() }
    if goesOn { scheduleLook(at: addresses) }
  }

  /// Closes all connections, even in use, and makes no more.
  func close() async {
    let (idle, waiting) = state.withLock { state in
      state.isClosed = true
      return (state.pool.retire { _ in true }, state.pool.removeWaiting())
    }
    for connection in idle { connection.close() }
    for waiter in waiting {
      waiter(.failure(OriginError(.destinationUnavailable, "the proxy has stopped")))
    }
    await channels.close()
  }
}
