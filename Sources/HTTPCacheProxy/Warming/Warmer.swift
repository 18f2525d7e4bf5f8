// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCaching
import Logging
import NIOCore

/// Fills the cache before clients ask: sends the requests of a ``WarmingList``, at its rate.
///
/// They are answered as those of clients are, with the rules and the origin of their site, and are in neither the access log nor
/// the figures of clients.
final class Warmer: Sendable {
  private let list = Mutex(WarmingList())
  private let loop: any EventLoop
  private let logger: Logger

  init(on loop: any EventLoop, _ logger: Logger) { (self.loop, self.logger) = (loop, logger) }

  var progress: WarmingList.Progress { list.withLock { $0.progress } }
  /// The number of requests that can still be added, and their bytes.
  var room: (count: Int, bytes: Int) { list.withLock { $0.room } }

  /// Adds requests.
  ///
  /// - Parameters:
  ///   - rate: maximum requests per second.
  ///   - list: the list that must still be the present one; `nil` for any.
  ///   - isPart: whether as many may be added as there is room for.
  func add(
    _ targets: [WarmingList.Target], rate: Double, to list: UInt32? = nil, isPart: Bool = false,
    _ context: ProxyContext
  ) -> WarmingList.Addition {
    let addition = self.list.withLock {
      $0.add(
        targets, rate: rate, to: list, number: .random(in: 1 ... .max), isPart: isPart, at: loop.now)
    }
    if case .added(let count) = addition, count > 0 {
      logger.notice("loading URLs", metadata: ["requests": "\(count)", "rate": "\(rate)"])
      goOn(context)
    }
    return addition
  }

  /// Takes no more requests, and gives up those that wait, because the proxy stops.
  func stop() {
    let count = list.withLock { $0.close() }
    if count > 0 {
      logger.warning("the proxy stops, and does not load all URLs", metadata: ["requests": "\(count)"])
    }
  }

  /// Gives up the requests that wait.
  ///
  /// - Returns: their number.
  func drop() -> Int {
    let count = list.withLock { $0.drop() }
    if count > 0 { logger.notice("gave up URLs to load", metadata: ["requests": "\(count)"]) }
    return count
  }

  private func goOn(_ context: ProxyContext) {
    while true {
      switch list.withLock({ $0.step(at: loop.now) }) {
      case .nothing: return
      case .wait(let time):
        loop.scheduleTask(deadline: time) { [self] in
          list.withLock { $0.timerFired(at: loop.now) }
          goOn(context)
        }
        return
      case .start(let target):
        Task {
          let result = await Self.load(target, context, on: loop)
          if let progress = list.withLock({ $0.ended(target, result) }) { report(progress) }
          goOn(context)
        }
      }
    }
  }

  private func report(_ progress: WarmingList.Progress) {
    logger.notice(
      "the list of URLs is loaded",
      metadata: [
        "stored": "\(progress.stored)", "fresh": "\(progress.fresh)", "notStored": "\(progress.notStored)",
        "failed": "\(progress.failed)", "dropped": "\(progress.dropped)",
      ])
  }

  /// Sends a request, and reads the response to its end if it is being stored.
  private static func load(
    _ target: WarmingList.Target, _ context: ProxyContext, on loop: any EventLoop
  ) async -> WarmingList.Result {
    do {
      let client = try ClientRequest(target, context)
      let call = OriginCall(context, nil, on: loop, client)
      func respond(_ policy: RequestCachePolicy) async throws -> CachedResponse {
        try await context.cache.respond(
          to: client.request, body: .empty, policy: policy, interim: nil, on: context.executors[loop]
        ) { request, body in
          try await call.transport(request, body)
        }
      }
      var response = try await respond(.useProtocolCachePolicy)
      // It may be stale for the next client, too: what the origin says is awaited here.
      if response.source == .stale { response = try await respond(.reloadRevalidatingCacheData) }
      let status = response.head.status.code
      let error = status < 400 ? nil : WarmingList.Result.failed(reason: "the status is \(status)")
      switch response.source {
      case .hit: return error ?? .fresh
      case .validated: return error ?? .stored
      case .stale: return .failed(reason: "the origin does not answer, and the stored response is stale")
      case .generated: return error ?? .failed(reason: "the origin does not answer")
      case .network: break
      }
      if response.isBeingStored { for try await _ in response.body {} }
      let outcome = await response.outcome
      if let error { return error }
      return outcome.cacheStatus.isStored
        ? .stored : .notStored(reason: outcome.storage.map { "\($0)" } ?? "the cache stores no such response")
    } catch let fault as MessageFault {
      return .failed(reason: fault.reason)
    } catch {
      return .failed(reason: "\(error)")
    }
  }
}

extension ClientRequest {
  /// Makes a request as a client on this machine would send it. It belongs to a site.
  ///
  /// - Throws: ``MessageFault`` if the proxy would refuse it.
  init(_ target: WarmingList.Target, _ context: ProxyContext) throws(MessageFault) {
    let beginning = target.url.prefix(8).lowercasedASCII
    guard beginning.hasPrefix("http://") || beginning.hasPrefix("https://") else {
      throw MessageFault("it is not an absolute URL")
    }
    // It becomes a part of a head, which is read like any other. Values of fields have no line ends.
    guard target.url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw MessageFault("it has a blank or a control character")
    }
    var head = ByteBuffer()
    // §3.2.2 of RFC 9112: the URL names the host, and not this field.
    head.writeString("GET ")
    head.writeBytes(target.url.utf8.prefix { $0 != UInt8(ascii: "#") })
    head.writeString(" HTTP/1.1\r\nHost: localhost\r\n")
    for field in target.fields {
      head.writeString("\(field.name.rawName): ")
      field.withUnsafeBytesOfValue { _ = head.writeBytes($0) }
      head.writeString("\r\n")
    }
    head.writeString("\r\n")
    var reader = HeadReader(limits: context.settings.value.limits.head, isResponse: false)
    _ = try reader.findEnd(in: head)
    var request = try ClientRequest(head, reader, scheme: context.scheme)
    guard request.framing == .none, request.upgrade == nil else {
      throw MessageFault("the request must have neither content nor Upgrade")
    }
    for field in target.fields where request.request.headerFields[values: field.name].isEmpty {
      throw MessageFault("the field \(field.name) is not passed on")
    }
    var sites = SiteFinder(context.sites)
    sites.assign(&request, setsAuthority: false)
    try request.checkSite()
    var forwarder = Forwarder(IPAddress("127.0.0.1"), context.settings.value)
    request.client = forwarder.apply(to: &request.request, given: nil)
    self = request
  }
}
