import HTTPCacheObserving
import HTTPCaching
import Logging
import NIOHTTP1
import Synchronization

/// A request to the admin port, and its answer.
struct AdminRequest: Sendable {
  struct Answer: Sendable {
    var status = 200
    var type = "text/plain; charset=utf-8"
    var text: String
    var challenge: String?
    var allow: String?
  }

  private let method: HTTPMethod
  private let path: String
  private let query: [(name: String, value: String)]
  private let authorization: String?
  /// Whether a page somewhere else makes a browser ask.
  private let isFromPage: Bool
  private let context: ProxyContext

  init(_ head: HTTPRequestHead, _ context: ProxyContext) {
    method = head.method
    path = String(head.uri.prefix { $0 != "?" })
    query = Self.parameters(head.uri.dropFirst(path.count + 1))
    authorization = head.headers.first(name: "Authorization")
    isFromPage = head.headers.contains(name: "Origin") || head.headers.contains(name: "Sec-Fetch-Site")
    self.context = context
  }

  func answer() -> Answer {
    switch path {
    case "/purge": return method == .POST ? purge() : notAllowed("POST")
    case _ where method != .GET && method != .HEAD: return notAllowed("GET, HEAD")
    case "/health":
      let isDraining = context.isDraining.load(ordering: .relaxed)
      return Answer(status: isDraining ? 503 : 200, text: isDraining ? "stopping\n" : "ok\n")
    case "/metrics":
      return Answer(
        type: "text/plain; version=0.0.4; charset=utf-8",
        text: PrometheusText.of(context.statistics, context.cache))
    case "/status", "/":
      return Answer(type: "text/html; charset=utf-8", text: StatusPage.html(context))
    default: return Answer(status: 404, text: "There are /status, /metrics, /health and /purge.\n")
    }
  }

  private func notAllowed(_ methods: String) -> Answer {
    Answer(status: 405, text: "Use \(methods).\n", allow: methods)
  }

  // MARK: - Purging

  private func purge() -> Answer {
    if let token = context.configuration.adminToken {
      guard let authorization, Self.isEqual(authorization, "Bearer \(token)") else {
        return Answer(
          status: 401, text: "Purging needs the token: Authorization: Bearer TOKEN\n", challenge: "Bearer")
      }
    } else if isFromPage {
      // Any page that an administrator looks at can post here; it cannot leave out these fields.
      return Answer(status: 403, text: "Purging from a page in a browser needs a token: set one.\n")
    }
    let what = query.map(\.name)
    guard what.count == 1 || (what.count == 2 && what.contains("group") && what.contains("url")) else {
      return usage
    }
    if what == ["all"] {
      context.cache.removeAllResponses()
      return done("everything")
    }
    guard let text = value("url"), let target = Self.target(text) else { return usage }
    if let group = value("group") {
      context.cache.invalidateGroup(group, of: target)
      return done("the group \(group) of \(target.scheme)://\(target.authority)")
    }
    context.cache.removeResponses(
      for: HTTPRequest(method: .get, scheme: target.scheme, authority: target.authority, path: target.path))
    return done(target.text)
  }

  private var usage: Answer {
    Answer(
      status: 400,
      text: """
        POST /purge?url=http://HOST/PATH (as clients name it), /purge?group=NAME&url=http://HOST/, or /purge?all

        """)
  }

  private func done(_ what: String) -> Answer {
    context.logger.notice("purged", metadata: ["what": "\(what)"])
    return Answer(text: "Purged \(what).\n")
  }

  private func value(_ name: String) -> String? { query.first { $0.name == name }?.value }

  private static func target(_ text: String) -> TargetURI? {
    guard let separator = text.range(of: "://") else { return nil }
    let rest = text[separator.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    return TargetURI(
      HTTPRequest(
        method: .get, scheme: String(text[..<separator.lowerBound]), authority: String(authority),
        path: String(rest[authority.endIndex...])))
  }

  private static func parameters(_ query: Substring) -> [(name: String, value: String)] {
    query.split(separator: "&").map { pair in
      let name = pair.prefix { $0 != "=" }
      return (decoded(name), decoded(pair[name.endIndex...].dropFirst()))
    }
  }

  /// Percent-decoded; `+` is itself.
  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(decoded)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Takes as long for a wrong token as for the right one.
  private static func isEqual(_ left: String, _ right: String) -> Bool {
    let (left, right) = (Array(left.utf8), Array(right.utf8))
    var difference = left.count ^ right.count
    for index in right.indices { difference |= Int(right[index] ^ (index < left.count ? left[index] : 0)) }
    return difference == 0
  }
}

extension String {
  fileprivate func range(of text: String) -> Range<String.Index>? { firstRange(of: text) }
}
