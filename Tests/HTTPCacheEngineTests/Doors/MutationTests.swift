import HTTPTypes
import Testing

@testable import HTTPCacheEngine

/// Seeded mutations of plausible input: nothing crashes, and nothing is served that must not be.
struct MutationTests {
  private static let values = [
    "max-age=60, no-store", "private, max-age=0", "no-cache=\"a, b\"", "s-maxage=5, must-revalidate, public",
    "stale-while-revalidate=30, stale-if-error=60", "max-stale, min-fresh=9", "\"a\", W/\"b\", *",
    "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    "Accept, *",
    "\"cache\", \"*\"", "\"a b\", \"c\";x=1", "max-age=60;x, no-cache=\"a, b\", private=?0",
    "bytes=0-1", "bytes 0-1/9", "bytes 2-8/*", "http://a.example/x/../y?z#f", "../../x",
    "99999999999999999999", "-1", "", ",", "\"",
  ]
  private static let names = [
    "Cache-Control", "Expires", "Date", "Age", "Last-Modified", "ETag", "Vary", "Pragma", "Connection",
    "Location",
    "Content-Location", "If-None-Match", "If-Modified-Since", "Authorization", "Range", "Content-Length",
    "Content-Range", "X", "Cache-Groups", "Cache-Group-Invalidation", "Clear-Site-Data", "CDN-Cache-Control",
  ]

  private func mutated(_ text: String, _ numbers: inout SeededNumbers) -> String {
    var bytes = Array(text.utf8)
    for _ in 0..<Int.random(in: 0...3, using: &numbers) {
      let alphabet = Array("\",=*\\ \t-0959WGMTazé\u{0}\n;/#?:@[]%".utf8)
      let byte = alphabet[Int.random(in: alphabet.indices, using: &numbers)]
      let position = Int.random(in: 0...bytes.count, using: &numbers)
      switch Int.random(in: 0..<4, using: &numbers) {
      case 0: bytes.insert(byte, at: position)
      case 1 where position < bytes.count: bytes.remove(at: position)
      case 2 where position < bytes.count: bytes[position] = byte
      default: bytes.append(contentsOf: bytes.suffix(position))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func fields(_ numbers: inout SeededNumbers) -> HTTPFields {
    var fields = HTTPFields()
    for _ in 0..<Int.random(in: 0...6, using: &numbers) {
      let name = Self.names[Int.random(in: Self.names.indices, using: &numbers)]
      let value = mutated(Self.values[Int.random(in: Self.values.indices, using: &numbers)], &numbers)
      if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    return fields
  }

  @Test("Parsers survive anything, and what they accept they write so that they accept it again")
  func parsers() {
    var numbers = SeededNumbers(seed: 7)
    for _ in 0..<20_000 {
      let text = mutated(Self.values[Int.random(in: Self.values.indices, using: &numbers)], &numbers)
      _ = CacheControl(parsing: text)
      _ = VaryField(parsing: [text])
      _ = EntityTagCondition(parsing: [text])
      _ = DeltaSeconds(parsing: text)
      _ = CacheControl(targeted: [text, text])
      _ = try? StructuredField.strings([text, text])
      _ = TargetURI(scheme: "http", authority: text, path: text)
      if let range = ContentRange(parsing: text) {
        #expect(ContentRange(parsing: range.fieldValue) == range)
      }
      if let tag = EntityTag(parsing: text) {
        #expect(EntityTag(parsing: tag.fieldValue) == tag)
        #expect(EntityTagCondition(parsing: [tag.fieldValue]) == .tags([tag]))
      }
      if let date = HTTPDate(parsing: text, now: arrival) {
        #expect(HTTPDate(parsing: date.imfFixdate, now: arrival) == date)
      }
      if let uri = TargetURI(scheme: "http", authority: "a", path: "/b/c").resolving(text) {
        #expect(uri.path.first == "/")
        #expect(!uri.text.contains("#"))
      }
    }
  }

  @Test(
    "A directive added to any field value forbids what it forbids",
    arguments: ["no-store", "no-cache", "private"])
  func prohibitions(directive: String) {
    var numbers = SeededNumbers(seed: 11)
    var governing = 0
    for _ in 0..<3000 {
      let other = mutated(Self.values[Int.random(in: Self.values.indices, using: &numbers)], &numbers)
      let flags = CacheControl(parsing: "\(directive), \(other)").flags
      #expect(!flags.isDisjoint(with: [.noStore, .noCache, .isPrivate]), "\(other)")
      let lines = CacheControl(parsing: [other, directive]).flags
      #expect(!lines.isDisjoint(with: [.noStore, .noCache, .isPrivate]), "\(other)")
      // A Dictionary that does not parse governs nothing; one that does forbids the same.
      if let targeted = CacheControl(targeted: [directive, other]) {
        governing += 1
        #expect(
          !targeted.flags.isDisjoint(with: [.noStore, .noCache, .isPrivate])
            || !targeted.privateFields.isEmpty || !targeted.noCacheFields.isEmpty, "\(other)")
      }
    }
    #expect(governing > 100)
  }

  @Test("Neither door crashes, and no plan serves what must not be served")
  func doors() {
    var numbers = SeededNumbers(seed: 23)
    var served = 0
    for _ in 0..<8000 {
      let kind: CacheEngine.Configuration.Kind = Bool.random(using: &numbers) ? .private : .shared
      let engine = CacheEngine.of(kind)
      var first = request()
      if Bool.random(using: &numbers) { first.headerFields = fields(&numbers) }
      let statuses = [200, 200, 200, 204, 301, 304, 404, 206, 503]
      let status = statuses[Int.random(in: statuses.indices, using: &numbers)]
      var head = response(status)
      head.headerFields = fields(&numbers)
      if Bool.random(using: &numbers) { head.headerFields += HTTPFields("Cache-Control: max-age=150") }
      guard let stored = engine.stored(head, for: first) else { continue }
      let cacheControl = CacheControl(parsing: head.headerFields[values: .cacheControl])
      #expect(!cacheControl.contains(.noStore))
      #expect(kind == .private || !cacheControl.contains(.isPrivate))
      #expect(status != 304)
      // A partial response is stored for requests of ranges within it (§3.3).
      #expect(status != 206 || (stored.status == .ok && first.headerFields[.range] != nil))
      #expect(StoredResponse(decoding: stored.encoded()[...]) == stored)

      var second = Bool.random(using: &numbers) ? first : request()
      if Bool.random(using: &numbers) { second.headerFields += fields(&numbers) }
      let after = Int64.random(in: -10...200, using: &numbers)
      let now = arrival.advanced(bySeconds: after)
      switch engine.plan(for: second, policy: .useProtocolCachePolicy, candidates: [stored], now: now) {
      case .serve(let service):
        served += 1
        #expect(service.age >= 0)
        #expect(!cacheControl.contains(.noCache))
        #expect(stored.selecting.match(second.headerFields))
        #expect(stored.parts == nil || service.content != .whole)
        #expect(!service.isStale || !cacheControl.contains(.mustRevalidate))
        #expect(service.isStale || (service.remainingLifetime >= 0 && after >= 0))
      case .forward(let forwarding):
        var answer = response(Bool.random(using: &numbers) ? 304 : status)
        answer.headerFields = fields(&numbers)
        for result in [Exchange.Result.failure, .response(answer)] {
          let outcome = engine.outcome(
            of: Exchange(
              forwarding: forwarding, candidates: [stored], result: result, requestTime: now,
              responseTime: now))
          if case .failure = result, let stale = outcome.storedAnswer {
            #expect(stale.isStale == (outcome.reason != .fresh))
            #expect(!cacheControl.contains(.noCache))
          }
        }
      case .fail(let refusal): #expect(refusal.reason == .onlyIfCached)
      }
    }
    #expect(served > 100, "the mutations hit something")
  }

  @Test("An unsafe request invalidates nothing of another origin, whatever its response says")
  func invalidation() {
    var numbers = SeededNumbers(seed: 29)
    for _ in 0..<3000 {
      var head = response(200)
      for name in [HTTPField.Name.location, .contentLocation] {
        head.headerFields[name] = mutated("http://a.example/x", &numbers)
      }
      head.headerFields += HTTPFields(
        "Cache-Group-Invalidation: " + mutated("\"a\", \"//b.example/\"", &numbers))
      let outcome = CacheEngine.shared.firstOutcome(request(method: .post), head)
      for uri in outcome.invalidations {
        #expect(uri.scheme == "http")
        #expect(uri.authority == "a.example")
      }
      for invalidated in outcome.invalidatedScopes {
        #expect(invalidated.scope.target.text == "http://a.example/r")
      }
    }
  }
}
