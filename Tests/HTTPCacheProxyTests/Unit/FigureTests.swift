// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import NIOEmbedded
import TestSupport
import Testing

@testable import HTTPCacheProxy

@Suite("The proxy's statistics, counted", .timeLimit(.minutes(10)))
struct FigureTests {
  @Test("The hit ratio counts answers without the origin, and revalidations are separate")
  func ratios() {
    let statistics = SiteStatistics()
    for (outcome, requests, bytes) in [
      (RequestOutcome.hit, 5, 100), (.stale, 1, 200), (.validated, 2, 300), (.network, 1, 350),
      (.failed, 1, 50),
      (.refused, 90, 9000),
    ] {
      for _ in 0..<requests { statistics.answered(outcome, 200) }
      statistics.sent(bytes, outcome, 200)
    }
    let figures = Figures(statistics)
    #expect(figures.share(of: [.hit, .stale]).requests == 0.6)
    #expect(figures.share(of: [.hit, .stale]).contentBytes == 0.3)
    #expect(figures.share(of: [.validated]).requests == 0.2)
    #expect(figures.share(of: [.validated]).contentBytes == 0.3)
    #expect(Figures(SiteStatistics()).share(of: [.hit]).requests == nil)
    #expect((figures - figures).share(of: [.hit]).requests == nil)
  }

  @Test("Recent statistics cover the last minute, or the time since the start")
  func lastMinute() {
    let statistics = SiteStatistics()
    let clock = ManualClock(Timestamp(seconds: 1_000_000))
    let recent = RecentFigures(Figures(statistics), clock: clock)
    // A request a second, and a look at the counters every five.
    func pass(seconds: Int64) {
      for second in 1...seconds {
        statistics.answered(.hit, 200)
        clock.advance(seconds: 1)
        if second % RecentFigures.interval == 0 { recent.note(Figures(statistics)) }
      }
    }
    func last() -> (Int, Int64) {
      let last = recent.last(Figures(statistics))
      return (last.figures.requests(.hit), last.seconds)
    }
    #expect(last() == (0, 0))
    pass(seconds: 30)
    #expect(last() == (30, 30))
    pass(seconds: 300)
    #expect(last() == (60, 60))
    clock.advance(seconds: 3)
    #expect(last() == (60, 63))
    // There was no look for an hour: what is told says for how long it is.
    clock.advance(seconds: 3600)
    #expect(last().0 == 0)
  }

  @Test("Of what was stored or not, the last minute has what is new, and only reasons that it saw")
  func storage() async throws {
    let (statistics, clock) = (SiteStatistics(), ManualClock(Timestamp(seconds: 1_000_000)))
    let cache = try HTTPCache.embedded()
    let counting = cache.observe([.stored, .notStored]) { statistics.storage.count($0) }
    defer { counting.cancel() }
    let recent = RecentFigures(Figures(statistics), clock: clock)
    func get(_ path: String, _ control: String) async throws {
      let request = HTTPRequest(method: .get, scheme: "http", authority: "a", path: path)
      let response = try await cache.respond(to: request) { _, _ in
        let head = HTTPResponse(status: .ok, headerFields: [.cacheControl: control])
        return TransportResponse(head: head, body: MessageBody(Array("content".utf8)))
      }
      for try await _ in response.body {}
      _ = await response.outcome
    }
    func notStored(_ figures: Figures) -> [String] { figures.notStored.map { "\($0.reason) \($0.count)" } }
    try await get("/1", "max-age=60")
    for _ in 1...2 { try await get("/2", "no-store") }
    var last = recent.last(Figures(statistics)).figures
    #expect(last.stored == 1 && notStored(last) == ["responseNoStore 2"])
    recent.note(Figures(statistics))
    clock.advance(seconds: RecentFigures.span)
    try await get("/3", "private")
    last = recent.last(Figures(statistics)).figures
    #expect(last.stored == 0 && notStored(last) == ["privateInSharedCache 1"])
    let all = Figures(statistics) + Figures(statistics)
    #expect(all.stored == 2 && notStored(all) == ["privateInSharedCache 2", "responseNoStore 4"])
  }

  @Test("A latency is counted in the first bucket that fits, in steps of 1, 2 and 5")
  func buckets() {
    for (microseconds, bucket): (Int64, Int) in [
      (0, 0), (100, 0), (101, 1), (200, 1), (201, 2), (500, 2), (501, 3), (1000, 3), (12_345, 7),
      (50_000_000, 17), (50_000_001, 18), (1 << 40, 18),
    ] {
      let histogram = LatencyHistogram()
      histogram.record(microseconds: microseconds)
      #expect(histogram.snapshot.counts.firstIndex(of: 1) == bucket, "\(microseconds)")
    }
    #expect(LatencyHistogram.bounds.last == 50_000_000 && LatencyHistogram.bounds.count == 18)
  }

  @Test("What Linux says of a process is read whatever the name of its program, or not at all")
  func process() {
    let fields = "S 1 2 2 0 -1 4194560 10 20 0 0 5 6 0 0 20 0 9 0 4711 123456789 321 18446744073709551615 1"
    for name in ["httpcache", "a) b (c", ")", "", "\u{FFFD}"] {
      let status = ProcessFigures.Status("42 (\(name)) \(fields)")
      #expect(status?.threads == 9 && status?.startTicks == 4711)
      #expect(status?.virtualBytes == 123_456_789 && status?.pages == 321)
    }
    for text in [
      "", "42 (a)", "42 (a) S 1 2", "42 a \(fields)", "42 (a) " + fields.replacing("321", with: "x"),
    ] {
      #expect(ProcessFigures.Status(text) == nil, "\(text)")
    }
  }

  @Test("The status page shows the last minute and all time")
  func page() throws {
    let loop = EmbeddedEventLoop()
    let clock = ManualClock(Timestamp(seconds: 1_000_000))
    let context = try ProxyContext.embedded(on: loop, clock: clock)
    let site = try #require(context.sites.table.sites.first)
    func count(hits: Int) {
      for _ in 0..<hits { site.statistics.answered(.hit, 200) }
      site.statistics.answered(.network, 200)
    }
    count(hits: 3)
    site.recent.note(Figures(site.statistics))
    clock.advance(seconds: RecentFigures.span)
    count(hits: 1)
    let page = try #require(StatusPage.html(context))
    let row = "<tr><td>hit ratio: answered without the origin</td><td>50.0%</td><td>66.6%</td></tr>"
    #expect(page.contains(row))
    #expect(page.contains("<tr><td>validated by the origin</td><td>0.0%</td><td>0.0%</td></tr>"))
    #expect(page.contains("<tr><td>hit</td><td>1</td><td>4</td></tr>"))
    #expect(page.contains("<th>last 60 s</th><th>all time</th>"))
  }
}
