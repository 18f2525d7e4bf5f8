// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if Tracing
  import HTTPCacheEngine
  import HTTPCaching
  import HTTPTypes
  import Instrumentation
  import Tracing

  /// Makes a span of each step.
  struct SpanTracer<Base: Tracer>: CacheTracer {
    let tracer: Base

    func trace<Result>(
      _ step: TracedStep, of request: HTTPRequest, _ work: (any TracedSpan) async throws -> Result
    ) async rethrows -> Result {
      // The transport makes the span of the client, if it makes spans.
      try await tracer.withSpan(step.name, ofKind: .internal) { span in
        span.updateAttributes { $0.add(request) }
        return try await work(RecordedSpan(span: span))
      }
    }

    var context: (any Sendable)? { ServiceContext.current }

    func run<Result>(in context: any Sendable, _ work: () async throws -> Result) async rethrows -> Result {
      guard let context = context as? ServiceContext else { return try await work() }
      return try await ServiceContext.withValue(context) { try await work() }
    }

    func traceHit(_ response: CachedResponse, to request: HTTPRequest) {
      let span = tracer.startSpan(TracedStep.answer.name, ofKind: .internal)
      span.updateAttributes { $0.add(request) }
      RecordedSpan(span: span).record(response)
      span.end()
    }
  }

  private struct RecordedSpan<Base: Span>: TracedSpan {
    let span: Base

    var context: any Sendable { span.context }

    func link(to context: any Sendable) {
      guard let context = context as? InstrumentationContext else { return }
      span.addLink(SpanLink(context: context, attributes: [:]))
    }

    func record(_ response: CachedResponse) {
      span.updateAttributes { attributes in
        attributes["http.response.status_code"] = response.head.status.code
        attributes["httpcache.source"] = response.source.rawValue
        attributes["httpcache.reason"] = response.reason.rawValue
        if let storage = response.intent { attributes["httpcache.storage"] = storage.rawValue }
        if response.cacheStatus.isCollapsed == true { attributes["httpcache.coalesced"] = true }
      }
    }

    func record(_ status: HTTPResponse.Status) {
      span.updateAttributes { $0["http.response.status_code"] = status.code }
    }
  }

  extension TracedStep {
    fileprivate var name: String {
      switch self {
      case .answer: "HTTP cache"
      case .lookup: "HTTP cache lookup"
      case .wait: "HTTP cache wait"
      case .fetch: "HTTP cache fetch"
      case .revalidation: "HTTP cache revalidation"
      case .tierLookup: "HTTP cache tier lookup"
      case .tierLease: "HTTP cache tier lease"
      case .tierStore: "HTTP cache tier store"
      }
    }
  }

  extension SpanAttributes {
    /// Adds what identifies a request, without what may be confidential.
    fileprivate mutating func add(_ request: HTTPRequest) {
      self["http.request.method"] = request.method.rawValue
      guard let target = TargetURI(request) else { return }
      self["url.scheme"] = target.scheme
      self["url.path"] = String(target.path.prefix { $0 != "?" })
      let host = target.authority
      // The colon before a port follows a name without colons, or an address in brackets.
      if let colon = host.lastIndex(of: ":"), host[..<colon].last == "]" || !host[..<colon].contains(":") {
        self["server.address"] = String(host[..<colon])
        self["server.port"] = Int(host[host.index(after: colon)...])
      } else {
        self["server.address"] = host
      }
    }
  }
#endif
