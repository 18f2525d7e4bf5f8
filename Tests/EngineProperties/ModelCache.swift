import HTTPCacheEngine
import HTTPTypes

/// The smallest cache around the engine: the responses stored for one URI, and a clock that may go anywhere.
///
/// Every plan and every outcome is compared with what the text of the messages allows, read anew each time: an oracle that
/// knows only prohibitions, and shares no rule with the engine.
struct ModelCache {
  let engine: CacheEngine
  var candidates: [StoredResponse] = []
  /// The fields of the request that each of them answered.
  private var askedWith: [HTTPFields] = []
  var now = Vocabulary.start
  /// Whether the candidates come from the engine, and not from bytes that only look like it.
  var isTrusted = true
  /// How many requests were answered without the origin.
  private(set) var servings = 0

  private var isShared: Bool { engine.configuration.kind == .shared }

  init(kind: CacheEngine.Configuration.Kind, servesStaleWhenDisconnected: Bool = false) {
    engine = CacheEngine(.init(kind: kind, servesStaleWhenDisconnected: servesStaleWhenDisconnected))
  }

  /// A request, and the origin's answer if it is asked.
  mutating func exchange(
    _ request: HTTPRequest, policy: RequestCachePolicy = .useProtocolCachePolicy, _ result: Exchange.Result
  ) throws {
    let plan = engine.plan(for: request, policy: policy, candidates: candidates, now: now)
    try check(plan, request, policy)
    switch plan {
    case .serve(let service):
      servings += 1
      if let forwarding = service.revalidation { try settle(forwarding, result) }
    case .forward(let forwarding): try settle(forwarding, result)
    case .fail: break
    }
  }

  // MARK: - Before the network

  private static let safeMethods: Set = ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "REPORT"]

  private func check(_ plan: Plan, _ request: HTTPRequest, _ policy: RequestCachePolicy) throws {
    let asked = CacheControl(parsing: request.headerFields[values: .cacheControl])
    switch plan {
    case .serve(let service): try check(service, request, asked, policy)
    case .forward(let forwarding):
      try require(policy != .returnCacheDataDontLoad, "the policy forbids the network")
      // An unsafe request is written through whatever it says (§4).
      try require(
        !asked.contains(.onlyIfCached) || !Self.safeMethods.contains(request.method.rawValue),
        "only-if-cached forbids the network")
      try check(forwarding, request)
    case .fail:
      try require(
        policy == .returnCacheDataDontLoad || asked.contains(.onlyIfCached), "nothing forbids the network")
    }
  }

  private func check(
    _ service: Service, _ request: HTTPRequest, _ asked: CacheControl, _ policy: RequestCachePolicy
  ) throws {
    try require(candidates.indices.contains(service.candidate), "no such candidate")
    let stored = candidates[service.candidate]
    try require(
      request.method == .get || request.method == .head || request.method == .query,
      "served \(request.method)")
    try require(!policy.ignoresStored, "the policy ignores what is stored")
    try require(stored.selecting.match(request.headerFields), "another variant")
    try require(service.age >= 0, "a negative age")
    try checkContent(service.content, of: stored, age: service.age)
    if let revalidation = service.revalidation {
      try require(service.isStale, "validated behind, and not stale")
      try require(!asked.contains(.onlyIfCached), "only-if-cached forbids the network")
      // The client's conditions, and as a rule its range, are answered already.
      var question = request
      for name in [HTTPField.Name.range, .ifRange, .ifNoneMatch, .ifModifiedSince] {
        question.headerFields[fields: name] = revalidation.original.headerFields[fields: name]
        try require(
          name == .range || revalidation.original.headerFields[name] == nil, "\(name) behind the client")
      }
      try check(revalidation, question)
    }
    guard isTrusted else { return }
    let said = CacheControl(parsing: stored.fields[values: .cacheControl])
    try checkVariant(stored, askedWith[service.candidate], request.headerFields)
    try require(!said.contains(.noStore) || said.contains(.mustUnderstand), "no-store served")
    try require(!isShared || !said.contains(.isPrivate), "private served by a shared cache")
    guard policy == .useProtocolCachePolicy else { return }
    try require(!said.contains(.noCache), "no-cache served")
    try require(!asked.contains(.noCache), "served against the request's no-cache")
    if service.isStale {
      try require(!forbidsStale(said), "served stale against a directive")
      try require(
        asked.contains(.anyStaleness) || asked.maxStale != nil || said.staleWhileRevalidate != nil,
        "stale for no reason")
    } else {
      try require(
        service.remainingLifetime >= 0 && now >= stored.facts.responseTime, "fresh without a lifetime left")
    }
  }

  /// What is varied on is there in both requests or in none, and never `*`; how values compare is the engine's affair.
  private func checkVariant(_ stored: StoredResponse, _ then: HTTPFields, _ now: HTTPFields) throws {
    for text in stored.fields[values: .vary].joined(separator: ",").split(separator: ",") {
      let text = String(text.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" })
      try require(text != "*", "Vary: * served")
      guard let name = HTTPField.Name(text) else { continue }
      try require((then[name] == nil) == (now[name] == nil), "another variant: \(name)")
    }
  }

  private func forbidsStale(_ said: CacheControl) -> Bool {
    said.contains(.noCache) || said.contains(.mustRevalidate)
      || (isShared && (said.contains(.proxyRevalidate) || said.sharedMaxAge != nil))
  }

  private func check(_ forwarding: Forwarding, _ request: HTTPRequest) throws {
    try require(forwarding.original == request, "another request")
    try require(forwarding.nominated.allSatisfy(candidates.indices.contains), "no such candidate")
    try require(forwarding.selected.map(candidates.indices.contains) ?? true, "no such candidate")
    let sent = forwarding.request.headerFields
    if forwarding.isValidation {
      try require(sent[.ifNoneMatch] != nil || sent[.ifModifiedSince] != nil, "validates without a condition")
    } else {
      for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince] {
        try require(
          sent[values: name] == request.headerFields[values: name], "a condition that names nothing")
      }
    }
  }

  /// The head and the pieces of what is served fit each other and what is stored.
  private func checkContent(_ content: ContentSelection, of stored: StoredResponse, age: Int64?) throws {
    let head = stored.response(content, age: age, boundary: "b")
    let pieces = stored.pieces(of: content, boundary: "b")
    guard case .ranges(let ranges, let length) = content else {
      try require(pieces.isEmpty, "pieces of no range")
      return
    }
    if let parts = stored.parts {
      try require(length == parts.completeLength, "ranges of another length")
      try require(
        ranges.allSatisfy { range in parts.ranges.contains { $0.clamped(to: range) == range } },
        "ranges outside the parts")
    } else {
      try require(length == stored.contentLength, "ranges of another length")
    }
    try require(
      ranges.allSatisfy { !$0.isEmpty && $0.lowerBound >= 0 && $0.upperBound <= length ?? .max },
      "ranges outside: \(ranges)")
    try require(head.status == .partialContent, "ranges with \(head.status)")
    let count = pieces.reduce(0) { $0 + $1.count }
    try require(head.headerFields[.contentLength] == String(count), "another length than the pieces'")
  }

  // MARK: - After the network

  private mutating func settle(_ forwarding: Forwarding, _ result: Exchange.Result) throws {
    let outcome = engine.outcome(of: exchange(forwarding, result))
    try check(outcome, forwarding, result)
    apply(outcome, forwarding, result)
    if case .forwardAgain(let again) = outcome.answer {
      try require(!again.isValidation, "asks again with a condition that failed")
      let last = engine.outcome(of: exchange(again, result))
      if case .forwardAgain = last.answer { throw Violation(description: "asks for ever") }
      try check(last, again, result)
      apply(last, again, result)
    }
  }

  private func exchange(_ forwarding: Forwarding, _ result: Exchange.Result) -> Exchange {
    Exchange(
      forwarding: forwarding, candidates: candidates, result: result, requestTime: now, responseTime: now)
  }

  private func check(_ outcome: Outcome, _ forwarding: Forwarding, _ result: Exchange.Result) throws {
    for uri in outcome.invalidations {
      try require(
        uri.scheme == Vocabulary.origin.scheme && uri.authority == Vocabulary.origin.authority,
        "invalidates another origin: \(uri.text)")
    }
    try require(outcome.removals.allSatisfy(candidates.indices.contains), "no such candidate")
    for update in outcome.updates {
      try require(candidates.indices.contains(update.candidate), "no such candidate")
      if isTrusted { try checkStorable(update.response, isUpdate: true) }
    }
    if case .store(let stored, _) = outcome.storage {
      guard case .response(let head) = result else { throw Violation(description: "stores a failure") }
      try require(head.status == stored.status, "stores another status")
      try checkStorable(stored, isUpdate: false)
      try require(
        StoredResponse(decoding: stored.encoded()[...]) == stored, "is not the same when read: \(stored)")
      let asked = CacheControl(parsing: forwarding.original.headerFields[values: .cacheControl])
      try require(!asked.contains(.noStore), "stores against the request's no-store")
    }
    if case .stored(let answer) = outcome.answer {
      try require(candidates.indices.contains(answer.candidate), "no such candidate")
      try require((answer.age ?? 0) >= 0, "a negative age")
      try checkContent(answer.content, of: answer.response, age: answer.age)
    }
    guard case .failure = result else { return }
    try require(
      outcome.updates.isEmpty && outcome.removals.isEmpty && outcome.invalidations.isEmpty,
      "a failure changes something")
    guard isTrusted, case .stored(let answer) = outcome.answer else { return }
    let said = CacheControl(parsing: candidates[answer.candidate].fields[values: .cacheControl])
    try require(!said.contains(.noCache), "no-cache served on failure")
    try require(!answer.isStale || !forbidsStale(said), "served stale against a directive")
  }

  private func checkStorable(_ stored: StoredResponse, isUpdate: Bool) throws {
    let said = CacheControl(parsing: stored.fields[values: .cacheControl])
    try require(!said.contains(.noStore) || said.contains(.mustUnderstand), "stores no-store")
    try require(!isShared || !said.contains(.isPrivate), "a shared cache stores private")
    try require(
      (200...999).contains(stored.status.code) && stored.status.code != 304, "stores \(stored.status)")
    for name in [HTTPField.Name.connection, .transferEncoding, .upgrade, .proxyAuthenticate] {
      try require(stored.fields[name] == nil, "stores \(name)")
    }
    try require(stored.facts.lifetime.milliseconds >= 0 && stored.facts.initialAge >= 0, "negative times")
  }

  /// What a store does: one response for each variant.
  private mutating func apply(_ outcome: Outcome, _ forwarding: Forwarding, _ result: Exchange.Result) {
    guard isTrusted else { return }
    let asked = forwarding.original.headerFields
    for update in outcome.updates {
      candidates[update.candidate] = update.response
      // A response that says anew what it varies on is selected by the request it answers.
      if case .response(let head) = result, head.headerFields[.vary] != nil {
        askedWith[update.candidate] = asked
      }
    }
    for candidate in outcome.removals.sorted(by: >) { remove(candidate) }
    let own = "\(Vocabulary.origin.scheme)://\(Vocabulary.origin.authority)/r"
    if outcome.invalidations.contains(where: { $0.text == own }) {
      for candidate in candidates.indices.reversed() { remove(candidate) }
    }
    guard case .store(var stored, _) = outcome.storage else { return }
    stored.contentLength = Int64(candidates.count * 5)
    let key = stored.selecting.variantKey
    for candidate in candidates.indices.reversed() where candidates[candidate].selecting.variantKey == key {
      remove(candidate)
    }
    candidates.append(stored)
    askedWith.append(asked)
    if candidates.count > 4 { remove(0) }
  }

  private mutating func remove(_ candidate: Int) {
    candidates.remove(at: candidate)
    askedWith.remove(at: candidate)
  }
}
