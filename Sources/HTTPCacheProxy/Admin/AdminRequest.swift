// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCaching
import Logging
import NIOHTTP1

/// A request to the admin port, and its response.
struct AdminRequest: Sendable {
  struct Answer: Sendable {
    var status = 200
    var type = "text/plain; charset=utf-8"
    var text: String
    var challenge: String?
    var allow: String?

    static let stopping = Answer(status: 503, text: "stopping\n")
    static let tooLarge = Answer(
      status: 413,
      text: "The content has more than \(AdminConnection.contentLimit) bytes. Send it in parts.\n")
  }

  private let method: HTTPMethod
  private let path: String
  private let query: Substring
  private let content: [UInt8]
  private let wantsJSON: Bool
  private let authorization: String?
  private let verdict: AdminHosts.Verdict
  /// Whether a browser sends the request for a page of another site.
  private let isFromPage: Bool
  private let context: ProxyContext

  init(_ head: HTTPRequestHead, content: [UInt8], _ context: ProxyContext) {
    method = head.method
    path = String(head.uri.prefix { $0 != "?" })
    query = head.uri.dropFirst(path.count + 1)
    self.content = content
    wantsJSON = head.headers["Accept"].contains { $0.lowercasedASCII.contains("application/json") }
    verdict = AdminHosts(context.configuration).judge(head.headers["Host"])
    authorization = head.headers.first(name: "Authorization")
    isFromPage = head.headers.contains(name: "Origin") || head.headers.contains(name: "Sec-Fetch-Site")
    self.context = context
  }

  func answer() async -> Answer {
    switch path {
    // A probe may use any name: the response contains nothing secret.
    case "/health", "/ready": break
    default:
      switch verdict {
      case .answered: break
      case .ambiguous: return Answer(status: 400, text: "The request has more than one Host.\n")
      case .misdirected:
        return Answer(
          status: 421,
          text:
            "The admin port does not accept the name in Host. Use its address, or allow the name with --admin-host.\n"
        )
      }
    }
    switch path {
    case "/purge":
      guard method == .POST else { return notAllowed("POST") }
      if let refusal { return refusal }
      return await PurgeRequest(query: query, content: content, wantsJSON: wantsJSON, context).answer()
    case "/warm": return warm()
    case _ where method != .GET && method != .HEAD: return notAllowed("GET, HEAD")
    case "/health":
      let isDraining = context.isDraining.load(ordering: .relaxed)
      return Answer(status: isDraining ? 503 : 200, text: isDraining ? "stopping\n" : "ok\n")
    case "/ready": return await readiness()
    case "/metrics":
      return Answer(
        type: "text/plain; version=0.0.4; charset=utf-8",
        text: PrometheusText.of(context))
    case "/status", "/":
      // With a token, the port may be open to other machines.
      let settings = context.settings.value.adminToken == nil || isAuthorized ? context.settings.shown : nil
      if wantsJSON {
        return Answer(type: "application/json", text: StatusReport.json(context, settings))
      }
      guard let page = StatusPage.html(context, query: query, settings) else {
        return Answer(
          status: 404,
          text:
            "Not found. Use /status, /status?site=NAME, or, with the admin token, /status?configuration.\n")
      }
      return Answer(type: "text/html; charset=utf-8", text: page)
    default:
      return Answer(
        status: 404, text: "Not found. Use /status, /metrics, /health, /ready, /purge or /warm.\n")
    }
  }

  /// Whether clients get responses: the proxy serves, and the origin of at least one site responds.
  private func readiness() async -> Answer {
    if context.isDraining.load(ordering: .relaxed) { return .stopping }
    let sites = context.sites.table.sites
    var states = sites.map(\.origin.knownHealth)
    // One site that responds is enough, and a probe does not wait for the others: they are asked in the background.
    if !states.contains(.ready) {
      let (answers, answer) = AsyncStream.makeStream(of: (Int, OriginHealth.State).self)
      for (index, site) in sites.enumerated() {
        Task { answer.yield((index, await site.origin.health())) }
      }
      var count = 0
      for await (index, state) in answers {
        (states[index], count) = (state, count + 1)
        if state == .ready || count == sites.count { break }
      }
    }
    var notes: [String] = []
    for (index, site) in sites.enumerated() {
      guard case .unreachable(let kind) = states[index] else { continue }
      let origin = site.name.isEmpty ? "the origin" : "the origin of \(site.name)"
      notes.append(
        kind == .proxyInternalError
          ? "the proxy cannot connect to \(origin): it has no file descriptor left"
          : "\(origin) does not answer: \(kind.rawValue)")
    }
    guard notes.count < sites.count else {
      return Answer(status: 503, text: notes.joined(separator: "; ") + "\n")
    }
    // The proxy serves all the same, and must not leave the balancer together with all others.
    if context.cache.sharedTierStatistics?.isAvailable == false {
      notes.append("the shared tier is unavailable")
    }
    return Answer(text: (["ready"] + notes).joined(separator: "; ") + "\n")
  }

  private func notAllowed(_ methods: String) -> Answer {
    Answer(status: 405, text: "Use \(methods).\n", allow: methods)
  }

  private func warm() -> Answer {
    switch method {
    case .GET, .HEAD:
      let showsProblems = context.settings.value.adminToken == nil || isAuthorized
      return WarmRequest.progress(context, wantsJSON: wantsJSON, showsProblems: showsProblems)
    case .POST, .DELETE:
      if let refusal { return refusal }
      if method == .POST {
        return WarmRequest(query: String(query), content: content, wantsJSON: wantsJSON, context: context)
          .answer()
      }
      let count = context.warmer.drop()
      return Answer(text: "Gave up \(count) URLs that waited.\n")
    default: return notAllowed("GET, HEAD, POST, DELETE")
    }
  }

  // MARK: - Authorization

  /// The response to a client that may change nothing; `nil` if it may.
  private var refusal: Answer? {
    if context.settings.value.adminToken != nil {
      return isAuthorized
        ? nil
        : Answer(
          status: 401, text: "Purging and warming require the admin token: Authorization: Bearer TOKEN\n",
          challenge: "Bearer")
    }
    // Any page in an administrator's browser can post here, but it cannot leave out these fields.
    return isFromPage
      ? Answer(
        status: 403, text: "Purging and warming from a web page require an admin token; set one.\n") : nil
  }

  /// Whether the request has the admin token.
  private var isAuthorized: Bool {
    guard let token = context.settings.value.adminToken, let authorization else { return false }
    // Names of schemes have no case (RFC 9110 §11.1).
    let scheme = authorization.prefix { $0 != " " }
    let credentials = authorization[scheme.endIndex...].drop { $0 == " " }
    return scheme.lowercasedASCII == "bearer" && !credentials.isEmpty && Self.isEqual(credentials, token)
  }

  /// Compares tokens; takes the same time for a wrong token and for the right one.
  private static func isEqual(_ left: Substring, _ right: String) -> Bool {
    let (left, right) = (Array(left.utf8), Array(right.utf8))
    var difference = left.count ^ right.count
    for index in right.indices { difference |= Int(right[index] ^ (index < left.count ? left[index] : 0)) }
    return difference == 0
  }
}
