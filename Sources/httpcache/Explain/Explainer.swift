import HTTPCacheEngine
import HTTPTypes

/// Explains an exchange by putting questions to the engine's two doors.
///
/// No rule of caching is written here: what would happen later is found by asking the engine as of then.
struct Explainer {
  var kinds: [CacheEngine.Configuration.Kind] = CacheEngine.Configuration.Kind.allCases
  var policy = RequestCachePolicy.useProtocolCachePolicy
  /// Seconds after the arrival at which the same request comes again.
  var after: Int64?
  /// When the response arrived, where that is not what its Date says.
  var now: Timestamp?
  /// The clock, for a response without Date.
  var systemTime: Timestamp
  var url: TargetURI?
  /// The caches' target list (RFC 9213).
  var targets: [String] = []

  /// - Parameter earlier: the exchanges before it: their redirects lead from ``url`` to this one.
  func explain(_ exchange: RecordedExchange, after earlier: [RecordedExchange] = []) -> Explanation {
    var notes: [String] = []
    let request = request(of: exchange, earlier, &notes)
    let arrival = arrival(of: exchange.response, &notes)
    let target = TargetURI(request)?.text ?? request.path ?? ""
    let status = exchange.response.status
    let phrase = status.reasonPhrase.isEmpty ? "" : " " + status.reasonPhrase

    var verdicts: [Explanation.Verdict] = []
    for kind in kinds {
      let question = Question(
        engine: CacheEngine(.init(kind: kind, targets: targets)), request: request,
        response: exchange.response,
        arrival: arrival)
      let statements = statements(question)
      if let same = verdicts.firstIndex(where: { $0.statements == statements }) {
        verdicts[same].kinds.append(kind)
      } else {
        verdicts.append(.init(kinds: [kind], statements: statements))
      }
    }
    return Explanation(
      title: "\(request.method.rawValue) \(target) -> \(status.code)\(phrase)", notes: notes,
      verdicts: verdicts)
  }

  // MARK: - What was asked, and when

  private func request(
    of exchange: RecordedExchange, _ earlier: [RecordedExchange], _ notes: inout [String]
  ) -> HTTPRequest {
    guard let recorded = exchange.request else {
      // Without requests, the redirects that came before say where we are.
      let target = earlier.reduce(url ?? Self.placeholder) { target, redirect in
        guard redirect.response.status.kind == .redirection,
          let location = redirect.response.headerFields[.location]
        else { return target }
        return target.resolving(location) ?? target
      }
      notes.append(
        url == nil
          ? "No request is given: taken for a plain GET of \(target.text). Say --url for another target."
          : "No request is given: taken for a plain GET without further fields.")
      return HTTPRequest(
        method: .get, scheme: target.scheme, authority: target.authority, path: target.path)
    }
    let base: TargetURI
    if let url {
      base = url
    } else {
      if recorded.host == nil, !recorded.target.contains("://") {
        notes.append("The request names no host: taken for \(Self.placeholder.authority).")
      }
      base = TargetURI(
        scheme: recorded.isEncrypted == true ? "https" : "http",
        authority: recorded.host ?? Self.placeholder.authority, path: "/")
    }
    let isPath = recorded.target.hasPrefix("/")
    let target =
      isPath ? TargetURI(scheme: base.scheme, authority: base.authority, path: recorded.target) : nil
    let resolved = target ?? (recorded.target.contains("://") ? base.resolving(recorded.target) : nil)
    return HTTPRequest(
      method: recorded.method, scheme: resolved?.scheme ?? base.scheme,
      authority: resolved?.authority ?? base.authority, path: resolved?.path ?? recorded.target,
      headerFields: recorded.fields)
  }

  private static let placeholder = TargetURI(scheme: "http", authority: "example.com", path: "/")

  private func arrival(of response: HTTPResponse, _ notes: inout [String]) -> Timestamp {
    if let now { return now }
    if let date = ResponseFields(response.headerFields, now: systemTime, targets: []).date.date {
      notes.append("Taken to arrive at its Date, \(date.imfFixdate). Say --now for another time.")
      return date.timestamp
    }
    notes.append("It has no valid Date: taken to arrive now, at \(HTTPDate(systemTime).imfFixdate).")
    return systemTime
  }

  // MARK: - The statements

  private func statements(_ question: Question) -> [Explanation.Statement] {
    var statements: [Explanation.Statement] = []
    let forwarding: Forwarding
    switch question.firstPlan {
    case .forward(let sent):
      forwarding = sent
      if sent.reason != .nothingStored { statements.append(.init(.request, because: sent.reason)) }
    case .fail(let refusal):
      let status = refusal.response.status.code
      return [
        .init(
          .request, "The cache itself answers \(status), and the origin is not asked.",
          because: refusal.reason)
      ]
    case .serve: return []  // Nothing is stored that could be served.
    }
    let outcome = question.outcome(of: forwarding)
    if !outcome.invalidations.isEmpty {
      statements.append(
        .init(
          .invalidates, because: .invalidatedByUnsafeMethod, lines: outcome.invalidations.map(\.text)))
    }
    for invalidated in outcome.invalidatedScopes {
      statements.append(
        .init(.invalidates, because: invalidated.reason, lines: [invalidated.scope.description]))
    }
    guard case .store(let stored, let reason) = outcome.storage else {
      if let reason = outcome.storage.reason { statements.append(.init(.stored, "No.", because: reason)) }
      return statements + later(question, [])
    }
    statements.append(.init(.stored, "Yes.", because: reason))
    statements += reuse(question, stored)
    statements += later(question, [stored])
    return statements
  }

  /// The same request again, some seconds later.
  private func later(_ question: Question, _ candidates: [StoredResponse]) -> [Explanation.Statement] {
    guard after != nil || policy != .useProtocolCachePolicy else { return [] }
    let seconds = after ?? 0
    let plan = question.plan(candidates, policy: policy, after: seconds)
    let topic = Explanation.Topic.later(seconds: seconds)
    switch plan {
    case .serve(let service):
      let state =
        service.isStale ? "stale" : "fresh for another \(Phrases.duration(service.remainingLifetime))"
      let answer =
        service.content == .notModified ? "304, as the client has it already" : "the stored response"
      var sentence = "Answered with \(answer): \(Phrases.duration(service.age)) old, \(state)."
      if service.revalidation != nil {
        sentence += " It is validated at the origin behind the client's back."
      }
      return [
        .init(
          topic, sentence, because: service.reason,
          lines: service.revalidation.map { question.added(by: $0) } ?? [])
      ]
    case .forward(let forwarding):
      let how = forwarding.isValidation ? "Sent to the origin with conditions." : "Sent to the origin."
      return [.init(topic, how, because: forwarding.reason, lines: question.added(by: forwarding))]
    case .fail(let refusal): return [.init(topic, "Not answered from the store.", because: refusal.reason)]
    }
  }
}

/// One exchange, and the questions that can be put to an engine about it.
struct Question {
  var engine: CacheEngine
  var request: HTTPRequest
  var response: HTTPResponse
  var arrival: Timestamp

  /// The plan for the request when it was first made, and nothing was stored.
  var firstPlan: Plan { plan([], after: 0) }

  func plan(
    _ candidates: [StoredResponse], _ request: HTTPRequest? = nil,
    policy: RequestCachePolicy = .useProtocolCachePolicy, after seconds: Int64
  ) -> Plan {
    engine.plan(
      for: request ?? self.request, policy: policy, candidates: candidates,
      now: arrival.advanced(bySeconds: seconds))
  }

  func outcome(
    of forwarding: Forwarding, _ candidates: [StoredResponse] = [], _ result: Exchange.Result? = nil,
    after seconds: Int64 = 0
  ) -> Outcome {
    let time = arrival.advanced(bySeconds: seconds)
    return engine.outcome(
      of: Exchange(
        forwarding: forwarding, candidates: candidates, result: result ?? .response(response),
        requestTime: time, responseTime: time))
  }

  /// The fields that a forwarded request has and the client's has not.
  func added(by forwarding: Forwarding) -> [String] {
    let before = Set(forwarding.original.headerFields)
    return forwarding.request.headerFields.filter { !before.contains($0) }.map {
      "\($0.name.rawName): \($0.value)"
    }
  }
}
