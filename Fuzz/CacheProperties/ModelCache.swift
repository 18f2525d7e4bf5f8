// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes
import RawStructuredFieldValues

/// The smallest cache around the engine: the responses stored for one URI, and a clock that may go anywhere.
///
/// Every plan and every outcome is compared with what the text of the messages allows, read again each time: an oracle that
/// knows only prohibitions, and shares no rule with the engine.
struct ModelCache {
  let engine: CacheEngine
  var candidates: [StoredResponse] = []
  /// The fields of the request that each of them answered.
  private(set) var askedWith: [HTTPFields] = []
  /// The positions in the representation of the bytes that are stored of each of them.
  private(set) var contents: [[Range<Int64>]] = []
  var now = Vocabulary.start
  /// Whether the candidates come from the engine, and not from bytes that only look like it.
  var isTrusted = true
  /// How many requests were answered without the origin.
  private(set) var servings = 0
  /// How many of them by the short way.
  var hits = 0

  /// Whether the origin answers a request for a range of its content, of ten bytes, with that range.
  var originHasRanges = false
  /// Where a transfer ends early, in bytes; 0 where none does.
  var endsEarlyAt: Int64 = 0

  private var isShared: Bool { engine.configuration.kind == .shared }

  init(kind: CacheEngine.Configuration.Kind) {
    self.init(CacheEngine.Configuration(kind: kind))
  }

  init(_ configuration: CacheEngine.Configuration) {
    engine = CacheEngine(configuration)
  }

  /// A stored response that need not come from the engine.
  mutating func add(_ stored: StoredResponse) {
    var stored = stored
    stored.contentLength = stored.parts?.count ?? stored.contentLength
    candidates.append(stored)
    askedWith.append([:])
    contents.append(stored.parts?.ranges ?? [0..<(stored.contentLength ?? 0)])
  }

  /// A request, and the origin's answer if it is asked.
  mutating func exchange(
    _ request: HTTPRequest, policy: RequestCachePolicy = .useProtocolCachePolicy,
    _ result: CacheEngine.Exchange.Result
  ) throws {
    let plan = engine.plan(for: request, policy: policy, candidates: candidates, now: now)
    try check(plan, request, policy)
    try checkHit(plan, request, policy)
    switch plan {
    case .serve(let service):
      servings += 1
      if let forwarding = service.revalidation { try settle(forwarding, result) }
    case .forward(let forwarding): try settle(forwarding, result)
    case .fail: break
    }
  }

  // MARK: - Before the network

  private static let safeMethods: Set = [
    "GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "REPORT", "SEARCH",
  ]

  private func check(_ plan: CacheEngine.Plan, _ request: HTTPRequest, _ policy: RequestCachePolicy) throws {
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
    _ service: CacheEngine.Service, _ request: HTTPRequest, _ asked: CacheControl,
    _ policy: RequestCachePolicy
  ) throws {
    try require(candidates.indices.contains(service.candidate), "no such candidate")
    let stored = candidates[service.candidate]
    try require(
      request.method == .get || request.method == .head || request.method == .query,
      "served \(request.method)")
    try require(!policy.ignoresStored, "the policy ignores what is stored")
    try require(
      stored.selecting.match(request.headerFields) || isPreferred(stored, by: request.headerFields),
      "another variant")
    try require(service.ageInSeconds >= 0, "a negative age")
    try checkContent(
      service.content, of: stored, with: contents[service.candidate], age: service.ageInSeconds, for: request)
    if let revalidation = service.revalidation {
      try require(service.isStale, "validated in the background, and not stale")
      try require(!asked.contains(.onlyIfCached), "only-if-cached forbids the network")
      // The client's conditions, and as a rule its range, are answered already.
      var question = request
      // What a HEAD response proves may be nothing.
      if question.method == .head { question.method = .get }
      for name in [HTTPField.Name.range, .ifRange, .ifNoneMatch, .ifModifiedSince] {
        question.headerFields[fields: name] = revalidation.original.headerFields[fields: name]
        try require(
          name == .range || revalidation.original.headerFields[name] == nil,
          "\(name), which the client did not send")
      }
      try check(revalidation, question)
    }
    guard isTrusted else { return }
    let said = said(by: stored)
    try checkVariant(stored, askedWith[service.candidate], request.headerFields)
    try require(!said.contains(.noStore) || said.contains(.mustUnderstand), "no-store served")
    try require(
      !isShared || !(said.contains(.isPrivate) || said.contains(.misplacedPrivate)),
      "private served by a shared cache")
    try require(
      !service.isStale || said.staleWhileRevalidate != nil || !isForOneVisitor(stored),
      "a shared cache serves what had no lifetime")
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
        service.remainingSeconds >= 0 && now >= stored.facts.responseTime, "fresh without a lifetime left")
    }
  }

  /// Whether only the origin may permit a shared cache to use a response stale: nothing gave it a lifetime.
  private func isForOneVisitor(_ stored: StoredResponse) -> Bool {
    guard isShared else { return false }
    let said = said(by: stored)
    if let maxAge = said.sharedMaxAge ?? said.maxAge { return maxAge == 0 }
    return (targetedDirectives(of: stored) != nil || stored.fields[.expires] == nil)
      && stored.fields[.lastModified] == nil
  }

  /// In lowercase; whatever is no name too.
  private func variesOn(_ stored: StoredResponse) -> Set<String> {
    let members = stored.fields[values: .vary].joined(separator: ",").split(separator: ",")
    return Set(members.map { $0.lowercased().filter { $0 != " " && $0 != "\t" } })
  }

  /// What is varied on is there in both requests or in none, and never `*`; how values compare is the engine's affair.
  private func checkVariant(_ stored: StoredResponse, _ then: HTTPFields, _ now: HTTPFields) throws {
    for text in stored.fields[values: .vary].joined(separator: ",").split(separator: ",") {
      let text = String(text.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" })
      try require(text != "*", "Vary: * served")
      guard let name = HTTPField.Name(text) else { continue }
      if name == .acceptLanguage, isPreferred(stored, by: now) { continue }
      try require((then[name] == nil) == (now[name] == nil), "another variant: \(name)")
    }
  }

  /// Whether the content's language is one that the request names, where that is enough.
  private func isPreferred(_ stored: StoredResponse, by request: HTTPFields) -> Bool {
    guard engine.configuration.negotiatesLanguage, !stored.selecting.isUnmatchable,
      let language = stored.fields[.contentLanguage]?.lowercased(), !language.isEmpty
    else { return false }
    return request[values: .acceptLanguage].contains { $0.lowercased().contains(language) }
  }

  /// The directives that count: those of the targeted field where there is one that is valid.
  private func said(by stored: StoredResponse) -> CacheControl {
    targetedDirectives(of: stored) ?? CacheControl(parsing: stored.fields[values: .cacheControl])
  }

  private func targetedDirectives(of stored: StoredResponse) -> CacheControl? {
    for target in engine.configuration.targets {
      guard let name = HTTPField.Name(target), stored.fields[name] != nil,
        let members = StructuredValue.dictionary(stored.fields[values: name].joined(separator: ", ")),
        !members.isEmpty
      else { continue }
      // What is spelled alike means the same, but for what a Boolean takes back.
      let spelled = members.compactMap { name, value -> String? in
        guard case .item(let item) = value else { return name }
        switch item.rfc9651BareItem {
        case .integer(let number): return "\(name)=\(number)"
        case .bool(false) where name == "must-understand" || name == "public": return nil
        case .string(let text): return "\(name)=\"\(text)\""
        default: return name
        }
      }
      return CacheControl(parsing: spelled.joined(separator: ","))
    }
    return nil
  }

  private func forbidsStale(_ said: CacheControl) -> Bool {
    said.contains(.noCache) || said.contains(.mustRevalidate) || said.contains(.misplacedRevalidate)
      || (isShared && (said.contains(.proxyRevalidate) || said.sharedMaxAge != nil))
  }

  private func check(_ forwarding: CacheEngine.Forwarding, _ request: HTTPRequest) throws {
    try require(forwarding.original == request, "another request")
    try require(forwarding.selected.map(candidates.indices.contains) ?? true, "no such candidate")
    let sent = forwarding.request.headerFields
    if let completion = forwarding.completion {
      try check(completion, sent, request)
    } else {
      for name in [HTTPField.Name.range, .ifRange] {
        try require(sent[values: name] == request.headerFields[values: name], "another \(name)")
      }
    }
    if forwarding.isValidation {
      try require(sent[.ifNoneMatch] != nil || sent[.ifModifiedSince] != nil, "validates without a condition")
      guard let selected = forwarding.selected else { throw Violation(description: "validates nothing") }
      // Each tag is that of the selected response, or the client's.
      for name in (sent[.ifNoneMatch] ?? "").split(separator: ",") {
        let tag = name.drop { $0 == " " }
        let known = [candidates[selected].fields, request.headerFields].flatMap {
          $0[values: .eTag] + $0[values: .ifNoneMatch]
        }
        // A tag with a comma is cut here.
        try require(known.contains { $0.contains(tag) }, "names another response: \(tag)")
      }
    } else {
      for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince] {
        try require(
          sent[values: name] == request.headerFields[values: name], "a condition that names nothing")
      }
    }
  }

  // MARK: - After the network

  private mutating func settle(_ forwarding: CacheEngine.Forwarding, _ result: CacheEngine.Exchange.Result)
    throws
  {
    let result = answer(to: forwarding.request, result)
    let outcome = engine.outcome(of: exchange(forwarding, result))
    try check(outcome, forwarding, result)
    if case .forwardAgain(let again) = outcome.answer {
      try require(
        !again.isValidation && again.completion == nil, "asks again with a condition that failed")
      // Nothing is stored of the answer, so the candidates are the same still.
      let last = engine.outcome(of: exchange(again, result))
      if case .forwardAgain = last.answer { throw Violation(description: "asks without an end") }
      try check(last, again, result)
      try apply(last, again, result)
    } else {
      try apply(outcome, forwarding, result)
    }
  }

  /// What an origin that has ranges makes of a full response.
  private func answer(to request: HTTPRequest, _ result: CacheEngine.Exchange.Result)
    -> CacheEngine.Exchange.Result
  {
    guard originHasRanges, case .response(var head) = result, head.status == .ok,
      let asked = request.headerFields[.range].flatMap(RangeField.init(parsing:))?.resolved(length: 10).first
    else { return result }
    head.status = .partialContent
    head.headerFields[.contentRange] = ContentRange.bytes(asked, of: 10).fieldValue
    head.headerFields[.contentLength] = nil
    return .response(head)
  }

  private func exchange(_ forwarding: CacheEngine.Forwarding, _ result: CacheEngine.Exchange.Result)
    -> CacheEngine.Exchange
  {
    CacheEngine.Exchange(
      forwarding: forwarding, candidates: candidates, result: result, requestTime: now, responseTime: now)
  }

  private func check(
    _ outcome: CacheEngine.Outcome, _ forwarding: CacheEngine.Forwarding,
    _ result: CacheEngine.Exchange.Result
  ) throws {
    for uri in outcome.invalidations {
      try require(
        uri.scheme == forwarding.original.scheme && uri.authority == Vocabulary.origin.authority,
        "invalidates another origin: \(uri.text)")
    }
    try checkScopes(outcome, forwarding, result)
    try require(outcome.removals.allSatisfy(candidates.indices.contains), "no such candidate")
    for update in outcome.updates {
      try require(candidates.indices.contains(update.candidate), "no such candidate")
      if isTrusted { try checkStorable(update.response, isUpdate: true) }
    }
    if case .store(let stored, _) = outcome.storage {
      guard case .response(let head) = result else { throw Violation(description: "stores a failure") }
      // A part is stored as the response that it is a part of.
      let status = head.status == .partialContent && outcome.assembly != nil ? .ok : head.status
      try require(status == stored.status, "stores another status")
      try checkStorable(stored, isUpdate: false)
      var read = StoredResponse(decoding: stored.encoded()[...])
      read?.contentLength = stored.contentLength
      try require(read == stored, "is not the same when read: \(stored)")
      if isTrusted { try checkAssembly(outcome, stored, head) }
      let asked = CacheControl(parsing: forwarding.original.headerFields[values: .cacheControl])
      try require(!asked.contains(.noStore), "stores against the request's no-store")
    }
    if case .stored(let answer) = outcome.answer {
      try require(candidates.indices.contains(answer.candidate), "no such candidate")
      let (stored, asked) = (candidates[answer.candidate], forwarding.original.headerFields)
      try require(
        stored.selecting.match(asked) || isPreferred(stored, by: asked), "answers with another variant")
      if isTrusted { try checkVariant(stored, askedWith[answer.candidate], asked) }
      try require(
        !isTrusted || !answer.isStale || said(by: stored).staleIfError != nil || !isForOneVisitor(stored),
        "a shared cache serves what had no lifetime")
      try require((answer.ageInSeconds ?? 0) >= 0, "a negative age")
      try checkContent(
        answer.content, of: answer.response, with: contents[answer.candidate], age: answer.ageInSeconds,
        for: forwarding.original)
    }
    if case .completed(let answer) = outcome.answer {
      try require(forwarding.completion?.candidate == answer.candidate, "completes another")
      try require(answer.content == .whole && answer.response.parts == nil, "completed to a part")
      try require(outcome.assembly?.candidate == answer.candidate, "completed by nothing")
    }
    if case .generated = outcome.answer {
      switch result {
      case .failure where isShared: break
      case .response(let head) where head.status == .notModified:
        let fields = forwarding.original.headerFields
        try require(
          !forwarding.isValidation && fields[.ifNoneMatch] == nil && fields[.ifModifiedSince] == nil,
          "generates an answer to a condition")
      default: throw Violation(description: "generates an answer")
      }
    }
    guard case .failure = result else { return }
    try require(
      outcome.updates.isEmpty && outcome.removals.isEmpty && outcome.invalidations.isEmpty,
      "a failure changes something")
    guard isTrusted, case .stored(let answer) = outcome.answer else { return }
    let said = said(by: candidates[answer.candidate])
    try require(!said.contains(.noCache), "no-cache served on failure")
    try require(!answer.isStale || !forbidsStale(said), "served stale against a directive")
  }

  private func checkStorable(_ stored: StoredResponse, isUpdate: Bool) throws {
    let said = said(by: stored)
    try require(!said.contains(.noStore) || said.contains(.mustUnderstand), "stores no-store")
    try require(
      !isShared || !(said.contains(.isPrivate) || said.contains(.misplacedPrivate)),
      "a shared cache stores private")
    if isShared, stored.fields[.setCookie] != nil {
      try require(
        said.contains(.isPublic) || (stored.facts.lifetime.milliseconds > 0 && !said.contains(.noCache)),
        "shares cookies that nothing declares shareable")
      try require(stored.facts.lifetime.source != .heuristic, "shares cookies by a heuristic")
      switch engine.configuration.setCookie {
      case .store: break
      case .declared:
        try require(
          said.contains(.isPublic) || stored.facts.lifetime.source == .sharedMaxAge
            || !engine.configuration.targets.isEmpty, "shares cookies that are not declared for shared caches"
        )
      case .strip, .bypass: throw Violation(description: "stores cookies")
      }
    }
    try require(
      (200...999).contains(stored.status.code) && stored.status.code != 304, "stores \(stored.status)")
    for name in [HTTPField.Name.connection, .transferEncoding, .upgrade, .proxyAuthenticate] {
      try require(stored.fields[name] == nil, "stores \(name)")
    }
    try require(stored.facts.lifetime.milliseconds >= 0 && stored.facts.initialAge >= 0, "negative times")
  }

  /// What becomes invalid is of the request's own origin, and was named (RFC 9875 §3, Clear-Site-Data).
  private func checkScopes(
    _ outcome: CacheEngine.Outcome, _ forwarding: CacheEngine.Forwarding,
    _ result: CacheEngine.Exchange.Result
  ) throws {
    if outcome.invalidatedScopes.isEmpty { return }
    guard case .response(let head) = result, let target = TargetURI(forwarding.original) else {
      throw Violation(description: "a failure invalidates")
    }
    let isSafe = Self.safeMethods.contains(forwarding.original.method.rawValue)
    let isCleared =
      target.scheme == "https"
      && head.headerFields[values: .clearSiteData].contains {
        $0.contains("\"cache\"") || $0.contains("\"*\"")
      }
    let named = head.headerFields[values: .cacheGroupInvalidation].joined(separator: ", ")
    for invalidated in outcome.invalidatedScopes {
      let scope = invalidated.scope
      try require(scope.target.hasSameOrigin(as: target), "invalidates another origin: \(scope)")
      if invalidated.reason == .clearedByOrigin {
        try require(isCleared && scope.group == nil, "cleared by no response")
        if case .store = outcome.storage { throw Violation(description: "stores what clears") }
      } else {
        try require(!isSafe, "a safe method invalidates \(scope)")
        guard let group = scope.group else { throw Violation(description: "invalidates everything") }
        try require(
          candidates.contains { $0.groups.contains(group) }
            || StructuredValue.strings(named)?.contains(group) == true, "no response named \(scope)")
      }
    }
  }

  /// What a store does: one response for each variant.
  private mutating func apply(
    _ outcome: CacheEngine.Outcome, _ forwarding: CacheEngine.Forwarding,
    _ result: CacheEngine.Exchange.Result
  ) throws {
    guard isTrusted else { return }
    let asked = forwarding.original.headerFields
    let before = candidates
    var new: (response: StoredResponse, positions: [Range<Int64>])?
    var endsEarly = false
    if case .store(var stored, _) = outcome.storage {
      if let incomplete = endsEarlyAt > 0 ? outcome.incomplete(after: endsEarlyAt) : nil {
        stored = incomplete
        endsEarly = true
      }
      if stored.contentLength == nil { stored.contentLength = Int64(candidates.count * 5) }
      new = (stored, stored.parts?.ranges ?? [0..<(stored.contentLength ?? 0)])
    }
    let completed = outcome.assembly?.candidate.map { (candidates[$0], askedWith[$0]) }
    for update in outcome.updates {
      // A response that varies on something else from now on is selected by the request it answers.
      if variesOn(candidates[update.candidate]) != variesOn(update.response) {
        askedWith[update.candidate] = asked
      }
      candidates[update.candidate] = update.response
    }
    // A transfer that ends early takes no place.
    if !endsEarly { for candidate in outcome.removals.sorted(by: >) { remove(candidate) } }
    let own = "\(forwarding.original.scheme ?? "")://\(Vocabulary.origin.authority)/r"
    let isInvalid = outcome.invalidations.contains { $0.text == own }
    for candidate in candidates.indices.reversed() {
      let groups = candidates[candidate].groups
      if isInvalid
        || outcome.invalidatedScopes.contains(where: { $0.scope.group.map(groups.contains) ?? true })
      {
        remove(candidate)
      }
    }
    if let new { insert(new, asked, completed) }
    if !endsEarly { try checkReplaced(before, outcome, forwarding, result) }
    while candidates.count > 4 { remove(0) }
  }

  /// What answers a request takes the place of all that could have answered it, whether it is stored or not (§4.3.3).
  private func checkReplaced(
    _ before: [StoredResponse], _ outcome: CacheEngine.Outcome, _ forwarding: CacheEngine.Forwarding,
    _ result: CacheEngine.Exchange.Result
  ) throws {
    let request = forwarding.original
    let asked = CacheControl(parsing: request.headerFields[values: .cacheControl])
    guard case .response(let head) = result, case .network = outcome.answer, request.method == .get,
      forwarding.selected != nil,
      !isShared || request.headerFields[.authorization] == nil || outcome.storage.reason == nil,
      !asked.contains(.noStore)
    else { return }
    let status = head.status
    guard
      status.kind == .successful && status != .partialContent
        || status.kind == .redirection && status != .notModified || status == .notFound || status == .gone
    else { return }
    for old in before where old.selecting.match(request.headerFields) {
      try require(!candidates.contains(old), "what was replaced stays: \(old)")
    }
  }

  private mutating func insert(
    _ new: (response: StoredResponse, positions: [Range<Int64>]), _ asked: HTTPFields,
    _ completed: (StoredResponse, HTTPFields)?
  ) {
    let key = new.response.selecting.variantKey
    for candidate in candidates.indices.reversed() where candidates[candidate].selecting.variantKey == key {
      remove(candidate)
    }
    candidates.append(new.response)
    // What completes a response may have been asked for by a request that only prefers its language.
    if let (old, askedThen) = completed, variesOn(old) == variesOn(new.response) {
      askedWith.append(askedThen)
    } else {
      askedWith.append(asked)
    }
    contents.append(new.positions)
  }

  private mutating func remove(_ candidate: Int) {
    candidates.remove(at: candidate)
    askedWith.remove(at: candidate)
    contents.remove(at: candidate)
  }
}
