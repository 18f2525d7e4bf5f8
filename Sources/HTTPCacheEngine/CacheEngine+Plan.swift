// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

extension CacheEngine {
  /// Decides what to do with a request before it goes to the network: the engine's first entry point.
  ///
  /// - Parameters:
  ///   - request: the request as the client sent it.
  ///   - policy: how the request may use stored responses.
  ///   - candidates: all responses stored under the request's ``CacheKey``, in any order; for a QUERY request, under
  ///     the key that includes its content.
  ///   - now: the present time, read after the candidates were looked up.
  ///
  /// Most hits need less: see ``hit(for:policy:stored:now:)``.
  public func plan(
    for request: HTTPRequest, policy: RequestCachePolicy, candidates: [StoredResponse], now: Timestamp
  ) -> Plan {
    plan(for: request, policy: policy, candidates: candidates, now: now, isReloadMet: false)
  }

  /// - Parameters:
  ///   - revalidatesInBackground: whether the caller can revalidate a response that it serves. If not, a response with
  ///     `stale-while-revalidate` is revalidated before its use.
  ///   - isReloadMet: whether ``ReloadUse/validateOnce`` is met: the request has waited for a response that is among the
  ///     candidates, or the origin is a handler in this process.
  package func plan(
    for request: HTTPRequest, policy: RequestCachePolicy, candidates: [StoredResponse], now: Timestamp,
    revalidatesInBackground: Bool = true, isReloadMet: Bool = false
  ) -> Plan {
    var fields = RequestFields.of(request, now: now)
    let reload = configuration.reloadUse
    let ignoresReload = reload == .ignore || (isReloadMet && reload == .validateOnce)
    let isReloadIgnored = ignoresReload && fields.ignoreReload()
    let planner = Planner(
      engine: self, request: request, fields: fields, isReloadIgnored: isReloadIgnored, policy: policy,
      candidates: candidates, now: now,
      revalidatesInBackground: revalidatesInBackground,
      // If a response is stored, its request had a key.
      isTargetCacheable: !fields.hasHost && (!candidates.isEmpty || CacheKey.exists(for: request)))
    return planner.plan()
  }
}

/// Makes the plan for one request; the steps follow the paragraphs of RFC 9111 §4.
private struct Planner {
  let engine: CacheEngine
  let request: HTTPRequest
  let fields: RequestFields
  /// Whether `fields` lack what the request requires of fresh responses.
  var isReloadIgnored = false
  let policy: RequestCachePolicy
  let candidates: [StoredResponse]
  let now: Timestamp
  var revalidatesInBackground = true
  let isTargetCacheable: Bool

  func plan() -> CacheEngine.Plan {
    if let obstacle { return forward(reason: obstacle) }
    if policy.ignoresStored { return forward(reason: .policyIgnoresStored) }
    let matching = VariantSelection.matching(
      candidates, request: request.headerFields, engine.configuration)
    // §4 selects the most recent of the suitable responses; one of which only other parts are stored is not suitable.
    let suitable =
      matching.count > 1
      ? matching.filter { candidates[$0].parts == nil || content(of: $0) != nil } : matching
    guard let selected = VariantSelection.chosen(suitable, of: candidates, at: now) ?? matching.first else {
      let isNew = candidates.allSatisfy { SharedCookies.exclude($0, engine.configuration) }
      return forward(reason: isNew ? .nothingStored : .noVariantMatches)
    }
    let facts = candidates[selected].facts
    if policy.returnsAnyStored {
      let staleness = facts.staleness(at: now)
      let isStale = staleness != nil || facts.forbidsFreshUse
      if isStale, !StaleUse.mayOthersPermit(facts, engine.configuration.kind) {
        return forward(reason: staleness ?? .storedNoCache, selected: selected)
      }
      return serve(
        selected, reason: isStale ? .policyReturnsStored : facts.freshReason, isStale: isStale)
    }
    if policy == .reloadRevalidatingCacheData {
      if let plan = planByImmutability(selected, facts) { return plan }
      return forward(reason: .policyRevalidates, selected: selected)
    }
    return planByProtocol(selected, facts)
  }

  /// The protocol's policy: reuse responses that are fresh, or may be used stale; revalidate the others (§4).
  private func planByProtocol(_ selected: Int, _ facts: ReuseFacts) -> CacheEngine.Plan {
    if facts.flags.contains(.noCache) { return forward(reason: .storedNoCache, selected: selected) }
    if facts.flags.contains(.invalidated) {
      return forward(reason: .storedInvalidated, selected: selected)
    }
    if fields.cacheControl.contains(.noCache) {
      return forward(reason: .requestNoCache, selected: selected)
    }
    guard let staleness = facts.staleness(at: now) else { return planFresh(selected, facts) }
    let decision = engine.configuration.ruling.map { $0.decision(about: .init(candidates[selected])) }
    guard
      let permission = StaleUse.permission(
        for: facts, request: fields.cacheControl, now: now, engine.configuration.kind, decision),
      revalidatesInBackground || !permission.revalidatesBehind
    else {
      return forward(reason: staleness, selected: selected)
    }
    return serve(
      selected, reason: permission.reason, isStale: true,
      revalidates: permission.revalidatesBehind && !fields.cacheControl.contains(.onlyIfCached))
  }

  /// Serves a fresh response with `immutable`: the origin will not change it while it is fresh (RFC 8246 §2). The
  /// request may be a reload, or have a max-age below the response's age.
  ///
  /// A plain reload of a user agent sends both, and `immutable` answers it. A forced reload is different, in both its
  /// forms: `no-cache` in the request, and the policies that ignore stored responses. The remaining lifetime counts as
  /// for any response, so `min-fresh` applies.
  private func planByImmutability(_ selected: Int, _ facts: ReuseFacts) -> CacheEngine.Plan? {
    // §3: a response over an unencrypted connection may be forged, and must not last.
    guard facts.flags.contains(.immutable), request.scheme?.lowercasedASCII == "https",
      !facts.forbidsFreshUse, facts.staleness(at: now) == nil, !fields.cacheControl.contains(.noCache),
      facts.remainingLifetime(at: now) >= (fields.cacheControl.minFresh ?? 0).milliseconds
    else { return nil }
    return serve(selected, reason: .immutable, isStale: false)
  }

  /// Serves a fresh response, unless the request requires it to be younger or to stay fresh for longer (§5.2.1).
  private func planFresh(_ selected: Int, _ facts: ReuseFacts) -> CacheEngine.Plan {
    if let minFresh = fields.cacheControl.minFresh,
      facts.remainingLifetime(at: now) < minFresh.milliseconds
    {
      return forward(reason: .requestMinFresh, selected: selected)
    }
    if StaleUse.isTooOld(facts, for: fields.cacheControl, now: now) {
      return planByImmutability(selected, facts) ?? forward(reason: .requestMaxAge, selected: selected)
    }
    return serve(
      selected, reason: isReloadIgnored ? .freshDespiteReload : facts.freshReason, isStale: false)
  }

  /// Why the cache takes no part in this request, whatever is stored.
  private var obstacle: CacheEngine.Reason? {
    if engine.configuration.ruling?.isBypassed == true { return .bypassedByRule }
    if !Invalidation.isSafe(request.method) { return .unsafeMethod }
    if !request.method.isRetrieval, request.method != .head { return .methodNotCacheable }
    if !isTargetCacheable { return .targetNotCacheable }
    if fields.hasOriginPrecondition { return .originPrecondition }
    return nil
  }

  /// The part of a stored response that answers the request; `nil` if only parts of it are stored that do not.
  private func content(of selected: Int) -> CacheEngine.ContentSelection? {
    .of(candidates[selected], for: fields)
  }

  private func serve(_ selected: Int, reason: CacheEngine.Reason, isStale: Bool, revalidates: Bool = false)
    -> CacheEngine.Plan
  {
    // §3.3: an incomplete response answers only requests for ranges wholly within it.
    guard let content = content(of: selected) else {
      return forward(reason: .contentIncomplete, selected: selected)
    }
    let facts = candidates[selected].facts
    return .serve(
      CacheEngine.Service(
        candidate: selected, ageInSeconds: facts.ageInSeconds(at: now),
        remainingSeconds: facts.remainingSeconds(at: now), isStale: isStale,
        content: content,
        revalidation: revalidates ? background(reason: reason, selected: selected) : nil,
        reason: reason))
  }

  /// Makes the request for a revalidation in the background. The client's conditions have been answered, so they are
  /// removed. Its range stays only if no more than parts are stored: the client does not need the rest (§4.3.1 derives
  /// such a request from the stored response). It is a GET also if the client sent HEAD, whose response may prove nothing.
  private func background(reason: CacheEngine.Reason, selected: Int) -> CacheEngine.Forwarding {
    var question = request
    if question.method == .head { question.method = .get }
    let names: [HTTPField.Name] =
      [.ifRange, .ifNoneMatch, .ifModifiedSince] + (candidates[selected].parts == nil ? [.range] : [])
    for name in names { question.headerFields[fields: name] = [] }
    let planner = Planner(
      engine: engine, request: question, fields: .of(question, now: now), policy: policy,
      candidates: candidates, now: now, isTargetCacheable: isTargetCacheable)
    return planner.forwarding(reason: reason, selected: selected)
  }

  private func forward(reason: CacheEngine.Reason, selected: Int? = nil) -> CacheEngine.Plan {
    if policy == .returnCacheDataDontLoad { return .fail(CacheEngine.Refusal(reason: .policyForbidsNetwork)) }
    // An unsafe request gets no response before the origin's (§4), not even with only-if-cached.
    if fields.cacheControl.contains(.onlyIfCached), reason != .unsafeMethod {
      return .fail(CacheEngine.Refusal(reason: .onlyIfCached))
    }
    return .forward(forwarding(reason: reason, selected: selected))
  }

  private func forwarding(reason: CacheEngine.Reason, selected: Int?) -> CacheEngine.Forwarding {
    var (outgoing, isValidation) = (request, false)
    var completion: CacheEngine.Completion?
    // A HEAD response can update a stored response by itself (§4.3.5), so it needs no condition.
    if request.method.isRetrieval, let selected {
      // §4.3.2: a partly stored response is named if its parts satisfy the request. Otherwise a 304 would leave the
      // cache without an answer. The cache can instead complete the response with the rest.
      if content(of: selected) == nil {
        if let completing = PartialContent.completion(
          of: selected, candidates[selected], for: request, client: fields)
        {
          (outgoing, completion) = (completing.request, completing.completion)
        }
      } else if let conditional = Validation.request(from: request, client: fields, of: candidates[selected])
      {
        (outgoing, isValidation) = (conditional, true)
      }
    }
    switch policy {
    case .reloadIgnoringLocalAndRemoteCacheData:
      add("no-cache", to: &outgoing)
      HTTPField.Name.pragma.map { outgoing.headerFields[$0] = "no-cache" }
    case .reloadRevalidatingCacheData where fields.cacheControl == CacheControl():
      // The origin must validate, not an intermediate cache with a fresh copy (§5.2.1.1).
      add("max-age=0", to: &outgoing)
    default: break
    }
    return CacheEngine.Forwarding(
      request: outgoing, selected: selected, isValidation: isValidation, completion: completion,
      original: request, policy: policy, reason: reason, hasAuthorization: fields.hasAuthorization,
      forbidsStoring: fields.cacheControl.contains(.noStore),
      sharesReload: engine.configuration.reloadUse != .honor, isTargetCacheable: isTargetCacheable)
  }

  private func add(_ directive: String, to request: inout HTTPRequest) {
    let present = request.headerFields[.cacheControl]
    if let present, CacheControl(parsing: present).contains(.noCache) { return }
    request.headerFields[.cacheControl] = present.map { $0 + ", " + directive } ?? directive
  }
}

extension ReuseFacts {
  /// Whether even a fresh response must be revalidated before use.
  var forbidsFreshUse: Bool { !flags.isDisjoint(with: [.noCache, .invalidated]) }

  var freshReason: CacheEngine.Reason {
    switch lifetime.source {
    case .heuristic: .freshByHeuristic
    case .application: .freshByApplication
    case .rule: .freshByRule
    case .none, .sharedMaxAge, .maxAge, .expires: .fresh
    }
  }
}

extension HTTPField.Name {
  /// The field name `Pragma`; HTTPTypes has no constant for it (RFC 9111 §5.4 deprecates it).
  static let pragma = HTTPField.Name("Pragma")
}
