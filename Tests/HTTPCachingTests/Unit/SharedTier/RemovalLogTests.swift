// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import SystemPackage
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Removals that the nodes of a shared tier tell each other", .timeLimit(.minutes(5)))
struct RemovalLogTests {
  /// The ways to remove or expire `/a/1`.
  enum Way: String, CaseIterable {
    case request, expired, pattern, expiredPattern, group, expiredGroup, groupOfAny, invalidatedGroup, origin,
      partition, since
    case everything, expiredEverything, expiredOrigin, expiredPartition, expiredSince, before, unsafeMethod
    case site, expiredSite

    func run(_ fleet: SharedFleet, at node: Int) async throws {
      let cache = fleet.nodes[node].cache
      let target = TargetURI(scheme: "https", authority: "example.test", path: "/a/1")
      switch self {
      case .request: cache.remove(.target(of: .get("/a/1")))
      case .expired: cache.expire(.target(of: .get("/a/1")))
      case .pattern: cache.remove(.patterns([.glob("https://example.test/a/*")]))
      case .expiredPattern: cache.expire(.patterns([.prefix("https://example.test/a/")]))
      case .site: cache.remove(.site(1, in: Self.sites))
      case .expiredSite: cache.expire(.site(1, in: Self.sites))
      case .group: cache.remove(.group("g", of: target), counting: true)
      case .expiredGroup: cache.expire(.group("g", of: target))
      case .groupOfAny: cache.remove(.group("g"))
      case .expiredOrigin: cache.expire(.origin(of: target))
      case .expiredPartition: cache.expire(.partition("p"))
      case .expiredSince: cache.expire(.since(Timestamp(seconds: 1)))
      case .before: cache.remove(.before(Timestamp(seconds: 1 << 40)))
      case .invalidatedGroup: cache.remove(.group("g", of: target))
      case .origin: cache.remove(.origin(of: target))
      case .partition: cache.remove(.partition("p"))
      case .since: cache.remove(.since(Timestamp(seconds: 1)))
      case .everything: cache.remove(.all)
      case .expiredEverything: cache.expire(.all)
      case .unsafeMethod:
        var request = HTTPRequest.get("/a/1")
        request.method = .post
        _ = try await cache.respond(to: request, transport: fleet.origin.transport)
      }
    }

    private static let sites = SiteTable([
      SiteScope(), SiteScope(hosts: ["example.test"], paths: ["/a"]), SiteScope(hosts: ["*.test"]),
    ])

    var isSoft: Bool { rawValue.hasPrefix("expired") }
  }

  private func fleet(_ shape: ResponseShape) async throws -> SharedFleet {
    var shape = shape
    shape.hasGroup = true
    return try await SharedFleet(2, origin: MemoryOrigin(shape)) { $0.partition = "p" }
  }

  @Test(
    "A removal by one node reaches the others and the tier, once", arguments: Way.allCases, ResponseShape.few)
  func reaches(way: Way, shape: ResponseShape) async throws {
    let fleet = try await fleet(shape)
    for node in [0, 1] {
      _ = try await fleet.get("/a/1", at: node)
      // The next node waits for the lease of this one.
      await fleet.step()
    }
    fleet.origin.change()
    try await way.run(fleet, at: 0)
    await fleet.step()
    let answer = try await fleet.get("/a/1", at: 1)
    #expect(answer.text == "2", "\(way)")
    await fleet.step()
    // Neither node drops what was fetched after the removal.
    for node in [0, 1] {
      let answer = try await fleet.get("/a/1", at: node)
      #expect(answer.text == "2")
      #expect(answer.source == .hit)
    }
  }

  @Test(
    "A response that was requested before a removal anywhere is not stored in the tier",
    arguments: Way.allCases, ResponseShape.few)
  func refuses(way: Way, shape: ResponseShape) async throws {
    let fleet = try await fleet(shape)
    _ = try await fleet.get("/a/1", at: 0)
    // The response waits for the tier, and another node removes it.
    try await way.run(fleet, at: 1)
    await fleet.nodes[1].link.deliverRemovals()
    await fleet.nodes[0].link.drainWrites()
    #expect(fleet.server.entryCount == 0)
    #expect(fleet.nodes[0].statistics.refused == 1)
  }

  @Test("An entry that a tier did not remove is not used", arguments: Way.allCases, ResponseShape.few)
  func ignores(way: Way, shape: ResponseShape) async throws {
    let fleet = try await fleet(shape)
    _ = try await fleet.get("/a/1", at: 0)
    await fleet.step()
    let stale = fleet.server.find(try #require(CacheKey(.get("/a/1"), partition: "p")).bytes)
    #expect(stale.count == 1)
    fleet.origin.change()
    try await way.run(fleet, at: 0)
    await fleet.step()
    // As if the removal had missed it.
    let link = fleet.nodes[1].link
    let key = try #require(CacheKey(.get("/a/1"), partition: "p"))
    let form = try #require(SharedEntryForm.read(stale[0], key: key, place: key.bytes, at: fleet.clock.now))
    link.state.withLock { state in
      #expect(
        link.isCovered(key.bytes, form.scopes, since: form.position.number, state),
        "\(way)")
    }
  }

  @Test(
    "A removal that the tier has not been told yet keeps the node from using the tier's entry",
    arguments: Way.allCases, ResponseShape.few)
  func queued(way: Way, shape: ResponseShape) async throws {
    let fleet = try await fleet(shape)
    _ = try await fleet.get("/a/1", at: 0)
    await fleet.step()
    fleet.origin.change()
    try await way.run(fleet, at: 1)
    // The tier is asked, and its old response is not taken.
    #expect(try await fleet.get("/a/1", at: 1).text == "2")
  }

  private static let site = SiteSelection(
    table: SiteTable([
      SiteScope(hosts: ["a.example", "*.b.example"], paths: ["/x"]), SiteScope(paths: ["/y"]), SiteScope(),
    ]), scope: 0)

  @Test("A payload of a later version, or a damaged one, removes everything")
  func unreadable() {
    let target = TargetURI(scheme: "https", authority: "a.example", path: "/x?y")
    let selections: [HTTPCache.Selection] = [
      .target(target, partition: "p"), .init(.target(target, keepingPins: true), partition: ""),
      .patterns([.glob("https://*.a.example/*"), .prefix("https://b.example/")], partition: ""), .group("g"),
      .init(.scopes([[1, 2], []])), .partition("p"), .since(Timestamp(seconds: 5)),
      .before(Timestamp(seconds: 5)), .groups(["g", "h"]), .all,
      .init(.target(target, keepingPins: true), in: .everyPartition),
      .init(.patterns([.prefix("https://b.example/")]), in: .everyPartition),
      .init(.scopes([[1, 2], []]), in: .everyPartition),
      .init(.site(Self.site), partition: "p"), .init(.site(Self.site), in: .everyPartition),
    ]
    for removal in selections.flatMap({ [Removal($0), Removal($0, isSoft: true)] }) {
      let payload = removal.payload(node: 7)
      #expect(Removal.read(payload).removal == removal)
      #expect(Removal.read(payload).node == 7)
      for count in 0..<payload.count {
        // A shorter list is a list, too; then the checksum of the transport must notice.
        let read = Removal.read(Array(payload[..<count])).removal
        if case .patterns = removal.selection.extent, case .patterns = read.selection.extent { continue }
        if case .scopes = removal.selection.extent, case .scopes = read.selection.extent { continue }
        if case .site = removal.selection.extent, case .site = read.selection.extent { continue }
        if removal.selection == .groups(["g", "h"]), read.selection == .group("g") { continue }
        #expect(read == .everything, "\(removal) \(count)")
      }
    }
  }

  @Test("Payloads of earlier versions are read, and those of the same kinds are written as before")
  func versions() {
    func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count), 0, 0, 0] + text.utf8 }
    func number(_ number: UInt8) -> [UInt8] { [number, 0, 0, 0, 0, 0, 0, 0] }
    let target = TargetURI(scheme: "https", authority: "a.example", path: "/x")
    let time: [UInt8] = [0x88, 0x13, 0, 0, 0, 0, 0, 0]
    let group = HTTPCache.Selection.group("g", of: target, partition: "p")
    let origin = text("https://a.example")
    for (bytes, removal, isWritten) in [
      ([1, 1] + text("p") + text(target.text), Removal(.target(target, partition: "p"), isSoft: true), true),
      (
        [1, 2] + text("") + text(target.text),
        Removal(.init(.target(target, keepingPins: true), partition: "")), true
      ),
      (
        [2, 0] + text("") + text("glob *.css") + text("prefix https://a.example/"),
        Removal(.patterns([.glob("*.css"), .prefix("https://a.example/")], partition: "")), true
      ),
      ([3, 1] + text("p") + text(target.text) + text("g"), Removal(group, isSoft: true), true),
      ([3, 0] + text("p") + text(target.text) + text("g"), Removal(group), false),
      ([4] + origin, Removal(.init(.scopes([Array("https://a.example".utf8)]))), true),
      ([5] + text("p"), Removal(.partition("p")), true),
      ([6] + time, Removal(.since(Timestamp(seconds: 5))), true),
      ([7, 1], Removal(.all, isSoft: true), true),
      ([8, 0] + text("g"), Removal(.group("g")), true),
      // Nodes of earlier versions do not know these, and remove everything.
      ([8, 1] + text("g") + text("h"), Removal(.groups(["g", "h"]), isSoft: true), true),
      ([8, 0], .everything, false),
      ([9, 0] + time, Removal(.before(Timestamp(seconds: 5))), true),
      ([132] + origin, Removal(.init(.scopes([Array("https://a.example".utf8)])), isSoft: true), true),
      ([133] + text("p"), Removal(.partition("p"), isSoft: true), true),
      ([134] + time, Removal(.since(Timestamp(seconds: 5)), isSoft: true), true),
      ([129, 0] + text("p") + text(target.text), .everything, false),
      (
        [10, 2, 1] + text("") + text(target.text),
        Removal(.init(.target(target, keepingPins: true), in: .everyPartition)), true
      ),
      (
        [10, 1, 2] + text("") + text("glob *.css"),
        Removal(.init(.patterns([.glob("*.css")]), in: .everyPartition), isSoft: true), true
      ),
      (
        [10, 0, 4] + origin,
        Removal(.init(.scopes([Array("https://a.example".utf8)]), in: .everyPartition)), true
      ),
      ([10, 0], .everything, false), ([10, 0, 5] + text("p"), .everything, false),
      ([10, 0, 10, 1] + text("") + text(target.text), .everything, false), ([11, 0], .everything, false),
      (
        [11, 1] + text("p") + number(1) + number(1) + text("a.b") + number(1) + text("/x") + number(0)
          + number(0),
        Removal(
          .init(
            .site(
              SiteSelection(
                table: SiteTable([SiteScope(hosts: ["a.b"], paths: ["/x"]), SiteScope()]), scope: 1)),
            partition: "p"), isSoft: true), true
      ),
      // A position without a site, and numbers that no payload has room for.
      ([11, 0] + text("") + number(1) + number(0) + number(0), .everything, false),
      ([11, 0] + text("") + number(0) + number(255), .everything, false),
      (
        [11, 0] + text("") + [255, 255, 255, 255, 255, 255, 255, 255] + number(0) + number(0), .everything,
        false
      ),
      ([12, 0], .everything, false),
    ] as [([UInt8], Removal, Bool)] {
      let payload = [1, 7, 0, 0, 0, 0, 0, 0, 0] + bytes
      #expect(Removal.read(payload).removal == removal, "\(bytes)")
      if isWritten { #expect(removal.payload(node: 7) == payload, "\(bytes)") }
    }
  }

  @Test(
    "A node that is cut off validates what it has, and trusts it again when it has caught up",
    arguments: ResponseShape.few)
  func cutOff(shape: ResponseShape) async throws {
    let fleet = try await SharedFleet(2, origin: MemoryOrigin(shape))
    for path in ["/1", "/2"] { _ = try await fleet.get(path, at: 1) }
    await fleet.step()
    #expect(try await fleet.get("/1", at: 1).source == .hit)
    fleet.nodes[1].tier.fault = .failing
    fleet.origin.change()
    fleet.nodes[0].cache.remove(.target(of: .get("/1")))
    await fleet.nodes[0].step()
    fleet.clock.advance(seconds: 3)
    await fleet.nodes[1].step()
    #expect(!fleet.nodes[1].statistics.isInStep)
    // Nothing is served without validation, and what has not changed is confirmed.
    let answer = try await fleet.get("/1", at: 1)
    #expect(answer.text == "2")
    #expect(answer.reason == .replacedByOrigin || answer.source == .network)
    #expect(fleet.nodes[1].cache.storedResponse(for: .get("/2")) == nil)
    fleet.nodes[1].tier.fault = .none
    await fleet.step()
    #expect(fleet.nodes[1].statistics.isInStep)
    // The removal was applied late, and the other response is trusted again.
    #expect(try await fleet.get("/2", at: 1).source == .hit)
    #expect(try await fleet.get("/1", at: 1).text == "2")
  }

  @Test(
    "Without the tier, a stored response is confirmed by the origin at each use",
    arguments: ResponseShape.few.filter(\.isConfirmable))
  func confirmed(shape: ResponseShape) async throws {
    let fleet = try await SharedFleet(1, origin: MemoryOrigin(shape))
    _ = try await fleet.get(at: 0)
    fleet.clock.advance(seconds: 3)
    for _ in 0..<2 {
      let answer = try await fleet.get(at: 0)
      #expect(answer.source == .validated)
      let fields = try #require(fleet.origin.requests.last?.headerFields)
      #expect(fields[.ifNoneMatch] == shape.tag(1, for: .get()))
      #expect(fields[.ifNoneMatch] != nil || fields[.ifModifiedSince] != nil)
    }
    #expect(fleet.origin.requests.count == 3)
  }

  /// What makes the log unreadable from a node's position.
  enum Loss: CaseIterable {
    case everything, trimmed
  }

  @Test(
    "A log that does not reach back makes everything stored be validated once", arguments: Loss.allCases,
    ResponseShape.few)
  func lost(loss: Loss, shape: ResponseShape) async throws {
    let fleet = try await SharedFleet(2, origin: MemoryOrigin(shape))
    for path in ["/1", "/2"] { _ = try await fleet.get(path, at: 1) }
    await fleet.step()
    fleet.nodes[1].tier.fault = .failing
    fleet.origin.change()
    for path in ["/1", "/3"] { fleet.nodes[0].cache.remove(.target(of: .get(path))) }
    await fleet.nodes[0].step()
    switch loss {
    case .everything: fleet.server.loseEverything()
    case .trimmed: fleet.server.trimLog(2)
    }
    fleet.nodes[1].tier.fault = .none
    fleet.clock.advance(seconds: 10)
    await fleet.step()
    #expect(fleet.nodes[1].statistics.isInStep)
    #expect(fleet.nodes[1].statistics.restarts == 2)
    for path in ["/1", "/2"] {
      #expect(try await fleet.get(path, at: 1).text == "2")
      #expect(try await fleet.get(path, at: 1).source == .hit)
    }
  }

  @Test(
    "Records without a possible number are not applied, and the node is out of step until it has read them")
  func misnumbered() async throws {
    let fleet = try await SharedFleet(2)
    for path in ["/1", "/2"] { _ = try await fleet.get(path, at: 1) }
    await fleet.step()
    fleet.origin.change()
    fleet.nodes[1].tier.fault = .misnumberingRecords
    for path in ["/1", "/3", "/2"] { fleet.nodes[0].cache.remove(.target(of: .get(path))) }
    await fleet.nodes[0].step()
    await fleet.nodes[1].link.heartbeat()
    await fleet.nodes[1].link.follow(waiting: .zero)
    #expect(fleet.nodes[1].statistics.lag == 2)
    fleet.clock.advance(seconds: 3)
    #expect(try await fleet.get("/2", at: 1).text == "2")
    fleet.nodes[1].tier.fault = .none
    await fleet.step()
    #expect(fleet.nodes[1].statistics.isInStep)
    #expect(try await fleet.get("/1", at: 1).text == "2")
  }

  @Test("A response in flight while the log is lost is not trusted")
  func inFlight() async throws {
    let fleet = try await SharedFleet(2)
    let gate = Gate()
    let node = fleet.nodes[1].cache
    let fetch = Task {
      try await node.respond(to: .get("/1")) { _, _ in
        await gate.wait()
        return .ok("1", [.cacheControl: "max-age=600"])
      }.body.collect(upTo: .max)
    }
    await gate.arrived(1)
    fleet.nodes[0].cache.remove(.target(of: .get("/1")))
    await fleet.nodes[0].link.deliverRemovals()
    fleet.server.loseEverything()
    await fleet.nodes[1].step()
    gate.open()
    #expect(try await fetch.value.elementsEqual("1".utf8))
    fleet.origin.change()
    #expect(try await fleet.get("/1", at: 1).text == "2")
  }

  @Test("A removal is confirmed when every node has applied it")
  func confirms() async throws {
    let fleet = try await SharedFleet(2)
    _ = try await fleet.get(at: 1)
    await fleet.step()
    let cache = fleet.nodes[0].cache
    #expect(await cache.confirmRemovals(within: .zero) == .everywhere)
    cache.remove(.target(of: .get()))
    fleet.nodes[0].tier.fault = .failing
    #expect(await cache.confirmRemovals(within: .zero) == .here)
    #expect(fleet.nodes[0].statistics.queuedRemovals == 1)
    fleet.nodes[0].tier.fault = .none
    #expect(await cache.confirmRemovals(within: .zero) == .logged)
    await fleet.nodes[0].step()
    #expect(await cache.confirmRemovals(within: .zero) == .logged)
    await fleet.nodes[1].step()
    #expect(await cache.confirmRemovals(within: .zero) == .everywhere)
  }

  @Test("A dead node holds up a removal until its registration ends, later than its trust")
  func dead() async throws {
    let fleet = try await SharedFleet(2)
    fleet.nodes[1].tier.fault = .failing
    let cache = fleet.nodes[0].cache
    cache.remove(.target(of: .get()))
    await fleet.nodes[0].step()
    for _ in 0..<3 {
      #expect(await cache.confirmRemovals(within: .zero) == .logged)
      fleet.clock.advance(seconds: 1)
      await fleet.nodes[0].step()
    }
    #expect(!fleet.nodes[1].link.isInStep(at: fleet.clock.now))
    #expect(await cache.confirmRemovals(within: .zero) == .everywhere)
  }

  @Test("After the log was lost, no removal is confirmed before all nodes have lost their trust")
  func settles() async throws {
    let fleet = try await SharedFleet(2)
    _ = try await fleet.get(at: 1)
    await fleet.step()
    fleet.server.loseEverything()
    let cache = fleet.nodes[0].cache
    cache.remove(.target(of: .get()))
    await fleet.nodes[0].step()
    // The other node is not registered in the new log yet, and still trusts itself.
    #expect(fleet.nodes[1].link.isInStep(at: fleet.clock.now))
    #expect(await cache.confirmRemovals(within: .zero) == .logged)
    fleet.clock.advance(seconds: 4)
    await fleet.nodes[0].step()
    #expect(!fleet.nodes[1].link.isInStep(at: fleet.clock.now))
    #expect(await cache.confirmRemovals(within: .zero) == .everywhere)
  }

  @Test("Removals made during an outage are delivered in order, and too many become one of everything")
  func outage() async throws {
    let fleet = try await SharedFleet(2)
    for path in ["/1", "/2"] { _ = try await fleet.get(path, at: 1) }
    await fleet.step()
    fleet.nodes[0].tier.fault = .failing
    fleet.nodes[0].cache.remove(.target(of: .get("/1")))
    fleet.nodes[0].tier.fault = .none
    fleet.origin.change()
    await fleet.step()
    #expect(try await fleet.get("/1", at: 1).text == "2")
    #expect(try await fleet.get("/2", at: 1).text == "1")
    fleet.nodes[0].tier.fault = .failing
    for number in 0..<5000 { fleet.nodes[0].cache.remove(.target(of: .get("/x/\(number)"))) }
    #expect(fleet.nodes[0].statistics.queuedRemovals <= 4096)
    fleet.nodes[0].tier.fault = .none
    await fleet.step()
    #expect(try await fleet.get("/2", at: 1).text == "2")
  }

  /// What a restarted node knows of its last position in the log.
  enum Position: CaseIterable { case kept, lost, unsynced }

  @Test(
    "A restarted node with a disk catches up before it trusts its content", arguments: Position.allCases,
    ResponseShape.few)
  func restart(position: Position, shape: ResponseShape) async throws {
    try await withTemporaryDirectory { directory in
      var fleet = try await SharedFleet(1, origin: MemoryOrigin(shape))
      let sync: DiskSync = position == .unsynced ? .never : .removals
      fleet.nodes.append(try fleet.makeNode(directory: directory, sync: sync))
      await fleet.step()
      for path in ["/1", "/2"] { _ = try await fleet.get(path, at: 1) }
      await fleet.step()
      fleet.nodes[1].cache.close()
      if position == .lost { SharedPositionFile(in: directory).remove() }
      fleet.origin.change()
      fleet.nodes[0].cache.remove(.target(of: .get("/1")))
      await fleet.nodes[0].step()
      fleet.nodes[1] = try fleet.makeNode(directory: directory, sync: sync)
      // Nothing is trusted before the node knows the log.
      #expect(fleet.nodes[1].cache.storedResponse(for: .get("/2")) == nil)
      await fleet.step()
      #expect(try await fleet.get("/1", at: 1).text == "2")
      let other = try await fleet.get("/2", at: 1)
      #expect(other.text == (position == .kept ? "1" : "2"))
      #expect(other.source == (position == .kept ? .hit : .network))
      fleet.nodes[1].cache.close()
    }
  }

  /// How a node ends.
  enum Ending: CaseIterable { case closed, killed }

  @Test(
    "A removal that the tier could not be told of reaches all nodes after a restart", arguments: Way.allCases,
    Ending.allCases)
  func keptRemoval(way: Way, ending: Ending) async throws {
    try await withTemporaryDirectory { directory in
      var fleet = try await fleet(ResponseShape())
      fleet.nodes.append(try fleet.makeNode(directory: directory) { $0.partition = "p" })
      await fleet.step()
      for node in [2, 0, 1] {
        _ = try await fleet.get("/a/1", at: node)
        // The next node waits for the lease of this one.
        await fleet.step()
      }
      let node = fleet.nodes[2]
      node.tier.fault = .failing
      await node.link.heartbeat()
      fleet.origin.change()
      try await way.run(fleet, at: 2)
      await node.link.deliverRemovals()
      if ending == .closed {
        node.cache.close()
      } else {
        node.cache.store.close()
      }
      fleet.nodes[2] = try fleet.makeNode(directory: directory) { $0.partition = "p" }
      // An unsafe request makes two.
      #expect(fleet.nodes[2].statistics.queuedRemovals == (way == .unsafeMethod ? 2 : 1))
      await fleet.step()
      for node in [0, 1, 2] {
        #expect(try await fleet.get("/a/1", at: node).text == "2", "\(way) \(node)")
        await fleet.step()
      }
      #expect(fleet.nodes[2].statistics.queuedRemovals == 0)
      #expect(SharedRemovalsFile(in: directory).read().isEmpty)
      fleet.nodes[2].cache.close()
    }
  }

  @Test("Removals are kept in their order, and a damaged file of them stands for everything")
  func removalsFile() async throws {
    let target = TargetURI(scheme: "https", authority: "a.example", path: "/")
    let removals = [
      Removal(.target(target, partition: "p"), isSoft: true), Removal(.init(.scopes([[1, 2], []]))),
      Removal(.partition("q")), Removal(.group("g")),
    ]
    try await withTemporaryDirectory { directory in
      let file = SharedRemovalsFile(in: directory)
      let path = directory.appending(SharedRemovalsFile.name)
      #expect(file.read().isEmpty)
      for removal in removals { #expect(file.update(node: 7) { (1, [removal]) } == 0) }
      #expect(file.read() == removals)
      let whole = try [UInt8](Data(contentsOf: URL(filePath: path.string)))
      for count in 0..<whole.count {
        try Data(whole[..<count]).write(to: URL(filePath: path.string))
        let read = file.read()
        // At the end of a record, nothing shows that more were written: they are synced one after the other.
        #expect(read == [.everything] || read == Array(removals.prefix(read.count)))
        #expect(read.count < removals.count)
      }
      for index in whole.indices {
        var damaged = whole
        damaged[index] ^= 0x10
        try Data(damaged).write(to: URL(filePath: path.string))
        #expect(file.read() == [.everything], "\(index)")
      }
      #expect(file.update(node: 7) { (0, []) } == 0)
      #expect(file.read().isEmpty)
    }
    let nowhere = SharedRemovalsFile(in: "/dev/null")
    #expect(nowhere.update(node: 7) { (2, removals[..<2]) } == 2)
    #expect(nowhere.read().isEmpty)
  }

  @Test("What had to be validated still has to be after another restart", arguments: ResponseShape.few)
  func suspectsStay(shape: ResponseShape) async throws {
    try await withTemporaryDirectory { directory in
      var fleet = try await SharedFleet(1, origin: MemoryOrigin(shape))
      fleet.nodes.append(try fleet.makeNode(directory: directory))
      await fleet.step()
      _ = try await fleet.get("/1", at: 1)
      await fleet.step()
      fleet.server.loseEverything()
      fleet.clock.advance(seconds: 10)
      await fleet.step()
      fleet.nodes[1].cache.close()
      fleet.nodes[1] = try fleet.makeNode(directory: directory)
      await fleet.step()
      #expect(fleet.nodes[1].statistics.restarts == 0)
      fleet.origin.change()
      #expect(try await fleet.get("/1", at: 1).text == "2")
      fleet.nodes[1].cache.close()
    }
  }
}
