// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CAllocations
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes
import SystemPackage

extension Operation {
  public static let all = onOneThread + throughProxy

  /// What the calling thread does by itself.
  public static let onOneThread: [Operation] = [
    // First: from memory that another operation has freed, malloc takes 250 instructions more for each.
    Operation("insert") {
      let store = try CacheStore(.init(memoryCapacity: 2 * Operation.mostRuns * 2048))
      let entries = try Operation.entries()
      return { for number in $0 { take(store.insert(entries[number])) } }
    },
    Operation("key") {
      let requests = (0..<1024).map(Samples.request)
      return { for number in $0 { take(CacheKey(requests[number & 1023])) } }
    },
    Operation("hash") {
      let store = try CacheStore(.init(memoryCapacity: 1 << 20))
      let keys = (0..<1024).map { Samples.key($0).bytes }
      return { for number in $0 { take(store.fingerprint(of: keys[number & 1023])) } }
    },
    // A whole hit: the hash of the key, the lookup, the comparison of the whole key, the mark of its use, and the entry
    // returned and released.
    Operation("lookup-hit") {
      let store = try filled()
      let keys = (0..<1024).map(Samples.key)
      return { ask(keys, $0) { take(store.lookup($0)) } }
    },
    // What a hit costs whose body is looked at.
    Operation("lookup-read") {
      let store = try filled()
      let keys = (0..<1024).map(Samples.key)
      return { ask(keys, $0) { store.lookup($0).first?.withResidentBody { take($0.byteCount) } } }
    },
    Operation("lookup-miss") {
      let store = try filled()
      let keys = (0..<1024).map { Samples.key(1_000_000 + $0) }
      return { ask(keys, $0) { take(store.lookup($0)) } }
    },
    Operation("evict") { try evicting(.s3fifo) },
    Operation("evict-lru") { try evicting(.lru) },
    Operation("evict-hyperbolic") { try evicting(.hyperbolic) },
    // Bodies of 16 KiB from the page cache; memory holds nothing.
    Operation("disk-get") {
      let directory = try TemporaryDirectory()
      let store = try CacheStore(
        .init(memoryCapacity: 0, diskCapacity: 64 << 20, directory: FilePath(directory.path)))
      let keys = (0..<1024).map(Samples.key)
      let (metadata, body) = (try Samples.stored().encoded(), [UInt8](repeating: 0x61, count: 16 << 10))
      for key in keys {
        store.insert(
          NewEntry(
            key: key, variant: Samples.variant, metadata: metadata, body: body,
            storedAt: Samples.now.millisecondsSince1970))
      }
      // Not from the buffer.
      store.flush()
      return { numbers in
        withExtendedLifetime(directory) {
          for number in numbers { take(store.lookup(keys[number & 1023]).first?.bodyCount) }
        }
      }
    },
    // Into a log that is full, so that each run of some dozens removes a segment. Another thread writes the files.
    Operation("disk-insert") {
      let directory = try TemporaryDirectory()
      let store = try CacheStore(
        .init(memoryCapacity: 0, diskCapacity: 1 << 20, directory: FilePath(directory.path)))
      let entries = try Operation.entries()
      for entry in entries { store.insert(entry) }
      store.flush()
      return { numbers in
        withExtendedLifetime(directory) { for number in numbers { take(store.insert(entries[number])) } }
      }
    },
    // What a hit comes to: the lookup, and the decision by the front of the stored bytes.
    Operation("decide") {
      let store = try filled()
      let engine = Samples.engine
      let askers = (0..<1024).map { (key: Samples.key($0), request: Samples.request($0)) }
      let now = Samples.now.advanced(by: .seconds(60))
      return { numbers in
        ask(askers, numbers) { asker in
          var hit: CacheEngine.Hit?
          store.lookup(asker.key).only?.withMetadata {
            hit = engine.hit(for: asker.request, policy: .useProtocolCachePolicy, stored: $0, now: now)
          }
          take(hit)
        }
      }
    },
    // The same through the cache, without a tracer and without listeners.
    storedResponse("stored-response", []),
    // With fifty rules by host and path, one of which matches.
    storedResponse(
      "stored-response-rules",
      (1..<50).map { index in
        CacheRule(hosts: index % 2 == 0 ? ["site\(index).example"] : [], paths: ["/section\(index)/*"]) {
          $0.lifetime = .seconds(60)
        }
      } + [CacheRule { $0.grace = .seconds(60) }]),
    // With ten that restrict, none of which matches.
    storedResponse(
      "stored-response-restricting-rules",
      (0..<10).map { index in CacheRule(paths: ["/private\(index)/*"]) { $0.isBypassed = true } }
        + [CacheRule { $0.grace = .seconds(60) }]),
    // With one by a cookie, which the request does not have.
    storedResponse(
      "stored-response-cookie-rule",
      [
        CacheRule {
          $0.match.cookies = ["session"]
          $0.isBypassed = true
        }
      ]),
    // All that the cache does with a request to the origin, whose response is stored, or passed on, or a 304.
    exchange("miss", "max-age=60"),
    exchange("pass", "no-store"),
    exchange("validation", "max-age=0", isValidation: true),
    Operation("plan") {
      let (engine, requests) = (Samples.engine, (0..<1024).map(Samples.request))
      let candidates = [try Samples.stored()]
      let now = Samples.now.advanced(by: .seconds(60))
      return { numbers in
        for number in numbers {
          take(
            engine.plan(
              for: requests[number & 1023], policy: .useProtocolCachePolicy, candidates: candidates, now: now)
          )
        }
      }
    },
    Operation("judge") {
      let (engine, exchange) = (Samples.engine, try Samples.exchange())
      return { for _ in $0 { take(isStored(engine.outcome(of: exchange))) } }
    },
    Operation("judge-without-vary") {
      var head = Samples.head
      head.headerFields[.vary] = nil
      head.headerFields[.age] = "12"
      let (engine, exchange) = (Samples.engine, try Samples.exchange(head))
      return { for _ in $0 { take(isStored(engine.outcome(of: exchange))) } }
    },
    // What is stored of a response, as bytes, and what tells it from other variants.
    Operation("encode") {
      let stored = try Samples.stored()
      return { for _ in $0 { take(stored.encoded()) } }
    },
    // A response judged and encoded, as when it is stored.
    Operation("judge-encode") {
      let (engine, exchange) = (Samples.engine, try Samples.exchange())
      return { numbers in
        for _ in numbers {
          if case .store(let stored, _) = engine.outcome(of: exchange).storage { take(stored.encoded()) }
        }
      }
    },
    // What a 304 leads to, by the number of fields that the stored response was received with.
    freshen(1), freshen(8), freshen(16), freshen(30),
    Operation("decode") {
      let bytes = try Samples.stored().encoded()
      return { for _ in $0 { take(StoredResponse(decoding: bytes.span.bytes, contentLength: 1024)) } }
    },
    // The plan of a request that the front of the stored form does not decide.
    Operation("decode-plan") {
      let (engine, requests) = (Samples.engine, (0..<1024).map(Samples.request))
      let bytes = try Samples.stored().encoded()
      let now = Samples.now.advanced(by: .seconds(60))
      return { numbers in
        for number in numbers {
          guard let stored = StoredResponse(decoding: bytes.span.bytes, contentLength: 1024) else { continue }
          take(
            engine.plan(
              for: requests[number & 1023], policy: .useProtocolCachePolicy, candidates: [stored], now: now))
        }
      }
    },
    Operation("variant-key") {
      let stored = try Samples.stored()
      return { for _ in $0 { take(stored.variantKey) } }
    },
    // The plan of a request for which nothing is stored.
    Operation("plan-miss") {
      let (engine, requests) = (Samples.engine, (0..<1024).map(Samples.request))
      return { numbers in
        for number in numbers {
          take(
            engine.plan(
              for: requests[number & 1023], policy: .useProtocolCachePolicy, candidates: [], now: Samples.now)
          )
        }
      }
    },
    // What HTTPTypes asks for showing ten fields, names and values: no reading of them costs less.
    Operation("walk-fields") {
      let fields = Samples.head.headerFields
      return { numbers in
        for _ in numbers {
          var count = 0
          for position in fields.indices {
            count &+= fields[position].name.canonicalName.utf8.count
            fields[position].value.utf8.withContiguousStorageIfAvailable { count &+= Int($0.first ?? 0) }
          }
          take(count)
        }
      }
    },
    Operation("parse-cache-control") {
      let value = Samples.cacheControl
      return { for _ in $0 { take(CacheControl(parsing: value).flags) } }
    },
    Operation("parse-date") {
      let (value, now) = (Samples.date, Samples.now)
      return { for _ in $0 { take(HTTPDate(parsing: value, now: now)) } }
    },
  ]

  /// Looks up each of some keys in turn, each several times in a row: the caller holds the key, so that no reference to it is
  /// counted. A hit does the same the second time as the first.
  @inline(__always)
  private static func ask<Key>(_ keys: [Key], _ numbers: Range<Int>, _ body: (Key) -> Void) {
    let times = 16
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: times) {
      let key = keys[start / times % keys.count]
      for _ in start..<min(start + times, numbers.upperBound) { body(key) }
    }
  }

  /// Inserts into a full store: each insert makes room for itself.
  private static func evicting(_ policy: EvictionPolicy) throws -> (Range<Int>) -> Void {
    var configuration = CacheStore.Configuration(memoryCapacity: 4 << 20)
    configuration.eviction = policy
    let store = try CacheStore(configuration)
    let entries = try Operation.entries()
    for entry in entries { store.insert(entry) }
    return { for number in $0 { take(store.insert(entries[number])) } }
  }

  /// A 304 for a stored response that was received with so many fields.
  private static func freshen(_ count: Int) -> Operation {
    Operation("freshen-\(count)") {
      let (engine, exchange) = (Samples.engine, try Samples.validation(of: Samples.head(fieldCount: count)))
      guard engine.outcome(of: exchange).updates.count == 1 else { throw Samples.Unprepared.notUpdated }
      return { for _ in $0 { take(engine.outcome(of: exchange)) } }
    }
  }

  private static func isStored(_ outcome: borrowing CacheEngine.Outcome) -> Bool {
    if case .store = outcome.storage { true } else { false }
  }

  private static func entries() throws -> [NewEntry] {
    let metadata = try Samples.stored().encoded()
    return (0..<mostRuns).map { number in
      NewEntry(
        key: Samples.key(number), variant: Samples.variant, metadata: metadata, body: Samples.body,
        storedAt: Samples.now.millisecondsSince1970)
    }
  }

  /// A hit through a cache with rules.
  private static func storedResponse(_ name: String, _ rules: [CacheRule]) -> Operation {
    Operation(name) {
      struct Clock: CacheClock {
        var now: Timestamp { Samples.now.advanced(by: .seconds(60)) }
      }
      var configuration = HTTPCache.Configuration(kind: .shared)
      configuration.cacheRules = try CacheRules(rules)
      let cache = HTTPCache(
        store: try CacheStore(.init(memoryCapacity: 16 << 20)), configuration: configuration, clock: Clock())
      let requests = (0..<1024).map(Samples.request)
      for request in requests {
        guard cache.store(Samples.head, content: Samples.body, for: request) == .storedWithLifetime else {
          throw Samples.Unprepared.notStored
        }
      }
      return { for number in $0 { take(cache.storedResponse(for: requests[number & 1023])) } }
    }
  }

  /// A request through a cache, on one thread.
  ///
  /// - Parameters:
  ///   - cacheControl: that of the response.
  ///   - isValidation: whether it is the same request each time.
  private static func exchange(_ name: String, _ cacheControl: String, isValidation: Bool = false)
    -> Operation
  {
    Operation(name) {
      let cache = HTTPCache(
        store: try CacheStore(.init(memoryCapacity: 16 << 20)), configuration: .init(kind: .shared))
      var head = Samples.head
      head.headerFields[.cacheControl] = cacheControl
      let requests = (0..<(isValidation ? 1 : mostRuns)).map(Samples.request)
      let transport: Transport = { [head] request, _ in
        var head = head
        let isCondition = request.headerFields[.ifNoneMatch] != nil
        if isCondition { head.status = .notModified }
        return TransportResponse(head: head, body: isCondition ? .empty : MessageBody(Samples.body))
      }
      collect_tasks()
      return { numbers in
        for number in numbers {
          let request = requests[number % requests.count]
          switch cache.begin(request) {
          case .answer(let response): take(response)
          case .pending(let pending):
            Task { take(try await cache.respond(to: pending, transport: transport)) }
            run_collected_tasks()
          }
        }
      }
    }
  }

  private static func filled() throws -> CacheStore {
    let store = try CacheStore(.init(memoryCapacity: 64 << 20))
    for entry in try entries() { store.insert(entry) }
    return store
  }
}
