// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("The shared tier", .timeLimit(.minutes(5)))
struct SharedTierTests {
  @Test(
    "A response that one node stored is a local hit at another node after one lookup in the tier",
    arguments: ResponseShape.few)
  func shares(shape: ResponseShape) async throws {
    let fleet = try await SharedFleet(2, origin: MemoryOrigin(shape))
    #expect(try await fleet.get(at: 0).source == .network)
    await fleet.step()
    fleet.clock.advance(seconds: 100)
    await fleet.step()
    let answer = try await fleet.get(at: 1)
    #expect(answer.source == .hit)
    #expect(answer.text == "1")
    #expect(answer.response.head.headerFields[.age] == "100")
    let calls = fleet.nodes[1].tier.callCount
    #expect(try await fleet.get(at: 1).source == .hit)
    #expect(fleet.nodes[1].tier.callCount == calls)
    #expect(fleet.origin.requests.count == 1)
    #expect(fleet.nodes[1].statistics.hits == 1)
  }

  @Test(
    "A response from the tier answers each kind of request as a local one does, and is looked up twice",
    arguments: ResponseShape.few,
    [
      HTTPRequest.get("/"), HTTPRequest(method: .head, scheme: "https", authority: "example.test", path: "/"),
      .get("/", fields: [.ifNoneMatch: "*"]), .get("/", fields: [.ifNoneMatch: "\"other\""]),
      .get("/", fields: [.range: "bytes=0-0"]), .get("/", fields: [.range: "bytes=999999-"]),
      .get("/", fields: [.cacheControl: "max-stale=60"]),
      .get("/", fields: [.cacheControl: "only-if-cached"]),
    ])
  func kinds(shape: ResponseShape, request: HTTPRequest) async throws {
    let fleet = try await SharedFleet(2, origin: MemoryOrigin(shape))
    _ = try await fleet.get(at: 0)
    await fleet.step()
    let node = fleet.nodes[1]
    func answer(_ request: HTTPRequest) async throws -> (CachedResponse, [UInt8]) {
      let response = try await node.cache.respond(to: request, transport: fleet.origin.transport)
      return (response, Array(try await response.body.collect(upTo: .max)))
    }
    let (first, content) = try await answer(request)
    guard request.headerFields[.cacheControl] != "only-if-cached" else {
      // RFC 9111 §5.2.1.7: it is about this cache, and waits for no other.
      #expect(first.head.status == .gatewayTimeout)
      return
    }
    let statistics = node.cache.store.statistics
    #expect((statistics.misses, statistics.memoryHits) == (1, 1))
    let (second, again) = try await answer(request)
    #expect(first.source == .hit)
    #expect(second.source == .hit)
    #expect(first.reason == second.reason)
    #expect(first.head == second.head)
    #expect(content == again)
    #expect(fleet.origin.requests.count == 1)
    // All of it is stored, whatever part of it was the answer.
    #expect(try await fleet.get(at: 1).text == "1")
  }

  @Test(
    "What the origin replaces at one node answers at no node any more, also if that node had it in the tier only",
    arguments: SupersededTests.answers.filter { $0.text != nil }, [false, true])
  func replaces(answered: SupersededTests.Answered, isInTierOnly: Bool) async throws {
    let origin = MemoryOrigin { _, number in
      if number == 1 {
        return .ok("old", [.cacheControl: "max-age=3600", .vary: "Accept-Encoding", .eTag: "\"1\""])
      }
      var response = TransportResponse.ok(answered.text ?? "", answered.fields)
      response.head.status = answered.status
      return response
    }
    let fleet = try await SharedFleet(3, origin: origin)
    func text(at node: Int, _ fields: HTTPFields = [.acceptEncoding: "gzip"]) async throws -> String {
      let response = try await fleet.nodes[node].cache.respond(
        to: .get(fields: fields), transport: origin.transport)
      return try await response.text
    }
    for node in [0, 1] where node == 0 || !isInTierOnly {
      #expect(try await text(at: node) == "old")
      await fleet.step()
    }
    #expect(origin.requests.count == 1)
    #expect(try await text(at: 1, [.acceptEncoding: "gzip", .cacheControl: "no-cache"]) == "new")
    await fleet.step()
    for node in [0, 1, 2, 0, 1, 2] {
      for fields in [[.acceptEncoding: "gzip"], [:]] as [HTTPFields] {
        #expect(try await text(at: node, fields) == "new")
        await fleet.step()
      }
    }
  }

  @Test(
    "After a 304, the tier gets the head without the content, unless it has another content",
    arguments: [false, true])
  func refreshes(isLost: Bool) async throws {
    let origin = MemoryOrigin { request, number in
      if request.headerFields[.ifNoneMatch] != nil {
        return TransportResponse(
          head: HTTPResponse(
            status: .notModified, headerFields: [.eTag: "\"1\"", .cacheControl: "max-age=\(number * 10)"]))
      }
      return .ok("content", [.eTag: "\"1\"", .cacheControl: "max-age=10"])
    }
    let fleet = try await SharedFleet(2, origin: origin)
    #expect(try await fleet.get(at: 0).source == .network)
    await fleet.step()
    fleet.clock.advance(seconds: 9)
    if isLost { fleet.server.loseEntries() }
    fleet.clock.advance(seconds: 2)
    await fleet.step()
    #expect(try await fleet.get(at: 0).source == .validated)
    await fleet.step()
    #expect(fleet.server.counts.refreshes == (isLost ? 0 : 1))
    fleet.clock.advance(seconds: 15)
    await fleet.step()
    // The lifetime is that of the 304.
    let response = try await fleet.nodes[1].cache.respond(to: .get(), transport: origin.transport)
    #expect(try await Array(response.body.collect(upTo: .max)) == Array("content".utf8))
    #expect(response.source == .hit && response.head.headerFields[.age] == "15")
  }

  @Test("Only heads of the same content say that the content is the same")
  func sameContent() async throws {
    let fleet = try await SharedFleet(1)
    _ = try await fleet.get(at: 0)
    let key = StoreKey(try #require(CacheKey(.get())).bytes)
    let metadata = try #require(fleet.nodes[0].cache.store.lookup(key).first?.metadata)
    let stored = try #require(StoredResponse(decoding: metadata[...]))
    func head(_ body: [UInt8], _ number: UInt64 = 1) -> [UInt8] {
      SharedEntryForm.head(
        stored, body: body, key: [1], position: SharedLogPosition(epoch: 1, number: number),
        at: fleet.clock.now)
    }
    #expect(SharedEntryForm.haveSameContent(head([1, 2]), head([1, 2], 7)))
    for other in [head([1, 3]), head([1, 2, 0]), head([]), Array(head([1, 2]).dropLast()), []] {
      #expect(!SharedEntryForm.haveSameContent(head([1, 2]), other))
    }
  }

  @Test(
    "While a rule makes partitions, a removal reaches those of other nodes and of the tier, and refuses nothing else",
    arguments: [false, true])
  func everyPartition(isOrigin: Bool) async throws {
    let origin = MemoryOrigin { _, number in .ok("\(number)") }
    let rules = try CacheRules([CacheRule { $0.partitionField = "X-Tenant" }])
    let fleet = try await SharedFleet(2, origin: origin) { $0.cacheRules = rules }
    let field = try #require(HTTPField.Name("X-Tenant"))
    func source(_ url: String, _ tenant: String, at node: Int) async throws -> CachedResponse.Source {
      let target = try #require(TargetURI(absolute: url))
      var request = HTTPRequest(
        method: .get, scheme: target.scheme, authority: target.authority, path: target.path)
      request.headerFields[field] = tenant.isEmpty ? nil : tenant
      let response = try await fleet.nodes[node].cache.respond(to: request, transport: origin.transport)
      _ = try await response.body.collect(upTo: .max)
      return response.source
    }
    let (removed, kept) = ("https://a.example/1", "https://b.example/1")
    for url in [removed, kept] {
      for tenant in ["", "x", "y"] { #expect(try await source(url, tenant, at: 0) == .network) }
    }
    await fleet.step()
    #expect(try await source(removed, "x", at: 1) == .hit)
    // It is requested before the removal, and stored in the tier after it.
    #expect(try await source("https://b.example/2", "x", at: 0) == .network)
    let target = try #require(TargetURI(absolute: removed))
    #expect(fleet.nodes[1].cache.remove(isOrigin ? .origin(of: target) : .target(target)).count == 1)
    await fleet.nodes[1].link.deliverRemovals()
    await fleet.nodes[0].link.drainWrites()
    #expect(fleet.nodes[0].statistics.refused == 0)
    // The entries of the tier are there, and not used.
    #expect(try await source(removed, "y", at: 1) == .network)
    await fleet.step()
    for tenant in ["", "x"] { #expect(try await source(removed, tenant, at: 0) == .network) }
    for tenant in ["", "x", "y"] { #expect(try await source(kept, tenant, at: 1) == .hit) }
    #expect(try await source("https://b.example/2", "x", at: 1) == .hit)
  }

  @Test(
    "The age counts by the clock of the tier, whatever the clocks of the nodes show",
    arguments: [-5000, 5000])
  func ages(skew: Int64) async throws {
    var fleet = try await SharedFleet(1)
    let own = ManualClock(fleet.clock.now.advanced(bySeconds: skew))
    fleet.nodes.append(try fleet.makeNode(clock: own))
    await fleet.step()
    _ = try await fleet.get(at: 0)
    await fleet.step()
    for clock in [fleet.clock, own] { clock.advance(seconds: 60) }
    await fleet.step()
    let answer = try await fleet.get(at: 1)
    #expect(answer.source == .hit)
    #expect(answer.response.head.headerFields[.age] == "60")
  }

  @Test(
    "Variants are shared", arguments: ResponseShape.few,
    [ResponseShape.Variation.language, .languageAndEncoding])
  func variants(shape: ResponseShape, variation: ResponseShape.Variation) async throws {
    var shape = shape
    shape.variation = variation
    let fleet = try await SharedFleet(2, origin: MemoryOrigin(shape))
    for language in ["de", "fr"] {
      _ = try await fleet.get(at: 0, fields: [.acceptLanguage: language])
      fleet.origin.change()
      await fleet.step()
    }
    for (language, text) in [("de", "1"), ("fr", "2"), ("en", "3")] {
      #expect(try await fleet.get(at: 1, fields: [.acceptLanguage: language]).text == text)
    }
    #expect(fleet.origin.requests.count == 3)
  }

  @Test(
    "Each of many variants is found in the tier by nodes that have none, and a removal concerns all",
    arguments: [5, 40, 120])
  func manyVariants(count: Int) async throws {
    var shape = ResponseShape.few[0]
    shape.variation = .language
    var fleet = try await SharedFleet(2, origin: MemoryOrigin(shape))
    for number in 0..<count {
      _ = try await fleet.get(at: 0, fields: [.acceptLanguage: "l\(number)"])
      // The next request waits for the lease of the key.
      await fleet.step()
    }
    #expect(fleet.origin.requests.count == count)
    for number in (0..<count).reversed() {
      #expect(try await fleet.get(at: 1, fields: [.acceptLanguage: "l\(number)"]).source == .hit, "\(number)")
    }
    #expect(fleet.origin.requests.count == count)
    fleet.origin.change()
    fleet.nodes[1].cache.remove(.target(of: .get("/")))
    await fleet.step()
    // One that joins later has not read the removal.
    fleet.nodes.append(try fleet.makeNode())
    await fleet.step()
    for node in [2, 0, 1] {
      for number in 0..<count {
        #expect(try await fleet.get(at: node, fields: [.acceptLanguage: "l\(number)"]).text == "2")
        await fleet.step()
      }
    }
    #expect(fleet.origin.requests.count == 2 * count)
    #expect(fleet.nodes.allSatisfy { $0.statistics.damaged == 0 })
  }

  @Test(
    "A fresher response in the tier is used instead of a revalidation",
    arguments: ResponseShape.few.filter(\.isConfirmable))
  func fresher(shape: ResponseShape) async throws {
    let fleet = try await SharedFleet(2, origin: MemoryOrigin(shape))
    _ = try await fleet.get(at: 0)
    await fleet.step()
    _ = try await fleet.get(at: 1)
    fleet.clock.advance(seconds: shape.lifetime + 100)
    await fleet.step()
    // This node revalidates, and the other finds the updated response.
    #expect(try await fleet.get(at: 0).source == .validated)
    await fleet.step()
    #expect(try await fleet.get(at: 1).source == .hit)
    #expect(fleet.origin.requests.count == 2)
  }

  @Test("A damaged entry is a counted miss", arguments: Damage.allCases, ResponseShape.few)
  func damaged(damage: Damage, shape: ResponseShape) async throws {
    let fleet = try await SharedFleet(2, origin: MemoryOrigin(shape))
    _ = try await fleet.get(at: 0)
    await fleet.step()
    fleet.server.damage { damage.change(&$0) }
    let answer = try await fleet.get(at: 1)
    #expect(answer.source == .network)
    #expect(answer.text == "1")
    #expect(fleet.nodes[1].statistics.damaged == 1)
    #expect(fleet.nodes[1].statistics.hits == 0)
  }

  enum Damage: CaseIterable {
    case emptyHead, truncatedHead, longerHead, flippedHead, body, longerBody, version

    func change(_ entry: inout SharedEntry) {
      switch self {
      case .emptyHead: entry.head = []
      case .truncatedHead: entry.head.removeLast(9)
      case .longerHead: entry.head.append(0)
      case .flippedHead: entry.head[entry.head.count / 2] ^= 4
      case .body: if entry.body.isEmpty { entry.body = [1] } else { entry.body[0] ^= 1 }
      case .longerBody: entry.body.append(7)
      case .version: entry.head[0] = 9
      }
    }
  }

  @Test("Any flipped byte and any truncation of a head is a miss")
  func everyByte() throws {
    let now = Timestamp(seconds: 1_700_000_000)
    let key = CacheKey(TargetURI(scheme: "https", authority: "a.example", path: "/"))
    let engine = CacheEngine(.init(kind: .shared))
    let request = HTTPRequest.get("/")
    guard
      case .forward(let forwarding) = engine.plan(
        for: request, policy: .useProtocolCachePolicy, candidates: [], now: now)
    else { return #expect(Bool(false)) }
    let outcome = engine.outcome(
      of: CacheEngine.Exchange(
        forwarding: forwarding, candidates: [],
        result: .response(TransportResponse.ok("", [.cacheControl: "max-age=60"]).head), requestTime: now,
        responseTime: now))
    guard case .store(let stored, _) = outcome.storage else { return #expect(Bool(false)) }
    let body = Array("hello".utf8)
    let head = SharedEntryForm.head(
      stored, body: body, key: key.bytes, position: SharedLogPosition(epoch: 1, number: 2), at: now)
    func read(_ head: [UInt8]) -> SharedEntryForm.Found? {
      SharedEntryForm.read(
        FoundSharedEntry(head: head, body: body, elapsed: .seconds(1)), key: key, place: key.bytes, at: now)
    }
    #expect(read(head)?.position.number == 2)
    for index in head.indices {
      var changed = head
      changed[index] ^= 1
      #expect(read(changed) == nil, "\(index)")
      #expect(read(Array(head[..<index])) == nil, "\(index)")
    }
  }

  private static let selections: [(select: @Sendable (TargetURI) -> HTTPCache.Selection, left: Int)] = [
    ({ _ in .all }, 0), ({ .origin(of: $0) }, 0),
    ({ _ in .patterns([.prefix("https://example.test/a/")]) }, 3),
    ({ _ in .patterns([.glob("*/1")]) }, 4), ({ .group("one", of: $0) }, 5), ({ _ in .group("one") }, 5),
    ({ _ in .partition("other") }, 6),
  ]

  @Test(
    "After a removal that does not name its keys, what it covers is deleted from the tier, and nothing else",
    arguments: selections)
  func reclaims(select: @Sendable (TargetURI) -> HTTPCache.Selection, left: Int) async throws {
    let fleet = try await SharedFleet(2)
    for path in ["/a/1", "/a/2", "/a/3", "/b/1", "/b/2"] { _ = try await fleet.get(path, at: 0) }
    let request = HTTPRequest.get("/g")
    _ = try await fleet.nodes[0].cache.respond(to: request) { _, _ in
      TransportResponse(
        head: HTTPResponse(
          status: .ok,
          headerFields: [.cacheControl: "max-age=60", try #require(.init("Cache-Groups")): "\"one\""]),
        body: MessageBody([1]))
    }.body.collect(upTo: .max)
    await fleet.step()
    #expect(fleet.server.entryCount == 6)
    fleet.nodes[0].cache.remove(select(try #require(TargetURI(request))))
    await fleet.step()
    // Stored after the removal.
    _ = try await fleet.get("/new/1", at: 1)
    await fleet.step()
    await fleet.nodes[0].link.reclaim()
    #expect(fleet.server.entryCount == left + 1)
    #expect(fleet.nodes[0].statistics.reclaimed == 6 - left)
    #expect(try await fleet.get("/new/1", at: 0).source == .hit)
    #expect(fleet.origin.requests.count == 6)
  }

  @Test("A tier that cannot be searched stays available, and what fails is counted")
  func unsearchable() async throws {
    let fleet = try await SharedFleet(1)
    let node = fleet.nodes[0]
    for number in 1...2 * SharedTierLink.failureLimit {
      node.cache.remove(.group("one"))
      await node.link.deliverRemovals()
      node.tier.fault = .failing
      await node.link.reclaim()
      node.tier.fault = .none
      #expect(node.statistics.errors == number && node.statistics.isAvailable)
    }
    #expect(!node.events.all.contains(.sharedTierUnavailable))
  }

  @Test("A private cache shares its removals, and none of its responses")
  func privateCache() async throws {
    let fleet = try await SharedFleet(2, kind: .private)
    for node in [0, 1] { _ = try await fleet.get(at: node) }
    await fleet.step()
    #expect(fleet.origin.requests.count == 2)
    #expect(fleet.server.entryCount == 0)
    fleet.nodes[0].cache.remove(.target(of: .get()))
    await fleet.step()
    #expect(try await fleet.get(at: 1).source == .network)
  }

  @Test("A full write queue drops responses and counts them")
  func fullQueue() async throws {
    let fleet = try await SharedFleet(1) { $0.sharedTier?.writeQueueCapacity = 3000 }
    for path in ["/1", "/2", "/3", "/4"] { _ = try await fleet.get(path, at: 0) }
    #expect(fleet.nodes[0].statistics.dropped == 2)
    await fleet.step()
    #expect(fleet.server.entryCount == 2)
    #expect(fleet.nodes[0].statistics.queuedBytes == 0)
  }

  @Test("A tier that cannot be reached from the start is reported at once, and again once an hour")
  func unreachableFromTheStart() async throws {
    let fleet = try await SharedFleet(1, fault: .failing)
    let node = fleet.nodes[0]
    func reports() -> Int {
      node.events.all.count { $0 == .sharedTierUnavailable }
    }
    #expect(reports() == 1 && !node.statistics.isAvailable)
    for _ in 0..<59 {
      fleet.clock.advance(seconds: 60)
      await node.step()
    }
    #expect(reports() == 1)
    fleet.clock.advance(seconds: 60)
    await node.step()
    #expect(reports() == 2)
    node.tier.fault = .none
    await node.step()
    #expect(node.statistics.isAvailable && node.events.all.contains(.sharedTierAvailable))
    node.tier.fault = .failing
    await node.step()
    #expect(reports() == 3)
  }

  @Test(
    "A request waits no longer than the configured time, and then the breaker opens",
    arguments: [
      InMemorySharedTier.Fault.failing, .hanging, .losingAnswers,
    ])
  func outage(fault: InMemorySharedTier.Fault) async throws {
    let fleet = try await SharedFleet(1)
    let (node, origin) = (fleet.nodes[0], fleet.origin)
    let wait = node.link.options.wait
    #expect(node.statistics.isAvailable)
    node.tier.fault = fault
    let start = fleet.clock.now
    for number in 0..<20 {
      // A call that hangs ends when its time has passed.
      let answer = try await fleet.clock.endingSleeps(upTo: wait) {
        try await node.get("/\(number)", from: origin)
      }
      #expect(answer.text == "1")
    }
    #expect(
      start.duration(to: fleet.clock.now) == (fault == .hanging ? wait * SharedTierLink.failureLimit : .zero))
    #expect(!node.statistics.isAvailable)
    let calls = node.tier.callCount
    for number in 20..<40 { #expect(try await fleet.get("/\(number)", at: 0).text == "1") }
    #expect(node.tier.callCount == calls)
    #expect(node.events.all.count { $0 == .sharedTierUnavailable } == 1)
    node.tier.fault = .none
    await node.step()
    #expect(node.statistics.isAvailable)
    #expect(node.events.all.contains(.sharedTierAvailable))
  }
}
