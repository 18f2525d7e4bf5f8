// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching

@Suite("Explicit storing and the storage hook", .timeLimit(.minutes(10)))
struct StoringTests {
  private static let failing: Transport = { _, _ in throw CancellationError() }

  private func head(_ fields: HTTPFields = [.cacheControl: "max-age=60"]) -> HTTPResponse {
    HTTPResponse(status: .ok, headerFields: fields)
  }

  @Test("A response that could be completed later is stored explicitly if its content is whole")
  func storedWithValidator() throws {
    let setting = try Setting()
    let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\"", .contentLength: "3"]
    #expect(setting.cache.store(head(fields), content: Array("one".utf8), for: .get()) == .storedWithLifetime)
    #expect(setting.cache.storedResponse(for: .get())?.body.length == 3)
  }

  @Test("An explicitly stored response is a hit, and is replaced like any other")
  func byHand() async throws {
    let setting = try Setting()
    let origin = MemoryOrigin { _, _ in .ok("from the origin") }
    #expect(setting.cache.store(head(), content: Array("one".utf8), for: .get()) == .storedWithLifetime)
    #expect(try await setting.get(from: origin).text == "one")
    #expect(setting.cache.store(head(), content: Array("two".utf8), for: .get()) == .storedWithLifetime)
    #expect(try await setting.get(from: origin).text == "two")
    #expect(
      setting.cache.store(head([.cacheControl: "no-store"]), content: [], for: .get()) == .responseNoStore)
    #expect(try await setting.get(from: origin).text == "from the origin")
    #expect(setting.log.reasons(.stored) == [.storedWithLifetime, .storedWithLifetime, .storedWithLifetime])
    #expect(setting.log.reasons(.notStored) == [.responseNoStore])
  }

  @Test(
    "A 204 is stored whatever its Content-Length, which is not (RFC 9112 §6.3, RFC 9110 §8.6)",
    arguments: ["2", "0", nil])
  func noContent(length: String?) async throws {
    let setting = try Setting()
    var fields: HTTPFields = [.cacheControl: "max-age=60"]
    fields[.contentLength] = length
    let head = HTTPResponse(status: .noContent, headerFields: fields)
    let origin = MemoryOrigin { _, _ in TransportResponse(head: head) }
    for source in [CachedResponse.Source.network, .hit] {
      let answer = try await setting.get(from: origin)
      #expect(answer.source == source && answer.text.isEmpty)
      if source == .hit { #expect(answer.response.head.headerFields[.contentLength] == nil) }
    }
    #expect(setting.cache.store(head, content: [], for: .get("/other")) == .storedWithLifetime)
    #expect(setting.cache.storedResponse(for: .get("/other"))?.head.headerFields[.contentLength] == nil)
  }

  @Test("Explicit storing refuses incomplete responses, other methods and empty tiers")
  func refused() throws {
    let cache = try Setting().cache
    #expect(
      cache.store(head([.cacheControl: "max-age=60", .contentLength: "9"]), content: [1], for: .get())
        == .incompleteContent)
    #expect(cache.store(head(), content: [1], for: .get(), tiers: []) == .refusedByApplication)
    #expect(
      cache.store(head(), content: [1], for: .get(fields: [.cacheControl: "no-store"])) == .requestNoStore)
    #expect(
      cache.store(head(), content: [1], for: .get(fields: [.cacheControl: "only-if-cached"])) == .onlyIfCached
    )
    var post = HTTPRequest.get()
    post.method = .post
    #expect(cache.store(head(), content: [1], for: post) == .methodNotStored)
    var part = head([.cacheControl: "max-age=60", .contentRange: "bytes 0-0/5"])
    part.status = .partialContent
    #expect(cache.store(part, content: [1], for: .get(fields: [.range: "bytes=0-0"])) == .partNotCombined)
    #expect(cache.store.usage.memoryEntries == 0)
    #expect(cache.storedCopy(for: .get()) == nil)
  }

  @Test("A copy of the stored response is returned whole, at any age, without an event")
  func copy() throws {
    let setting = try Setting()
    let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept-Language", .eTag: "\"1\""]
    for language in ["de", "en"] {
      setting.cache.store(
        head(fields), content: Array(language.utf8), for: .get(fields: [.acceptLanguage: language]))
    }
    setting.clock.advance(seconds: 500)
    let asked: HTTPFields = [
      .acceptLanguage: "en", .ifNoneMatch: "\"1\"", .range: "bytes=0-0", .cacheControl: "no-cache",
    ]
    let copy = try #require(setting.cache.storedCopy(for: .get(fields: asked)))
    #expect(copy.content.elementsEqual("en".utf8))
    #expect(copy.head.headerFields[.age] == "500")
    #expect(copy.annotation == nil)
    #expect(setting.cache.storedCopy(for: .get(fields: [.acceptLanguage: "fr"])) == nil)
    #expect(setting.log.reasons(.served).isEmpty)
  }

  @Test("A QUERY is stored and found by its content")
  func query() throws {
    let cache = try Setting().cache
    var query = HTTPRequest.get()
    query.method = HTTPRequest.Method("QUERY") ?? .get
    #expect(cache.store(head(), content: [7], for: query, requestContent: [1]) == .storedWithLifetime)
    #expect(cache.storedCopy(for: query, requestContent: [1])?.content == [7])
    #expect(cache.storedCopy(for: query, requestContent: [2]) == nil)
  }

  @Test("An annotation lives as long as its response, also through a revalidation")
  func annotation() async throws {
    let setting = try Setting()
    let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\""]
    setting.cache.store(head(fields), content: [1], for: .get(), annotation: [4, 2])
    setting.clock.advance(seconds: 61)
    let validating = MemoryOrigin { _, _ in .ok("", fields, status: .notModified) }
    #expect(try await setting.get(from: validating).source == .validated)
    #expect(setting.cache.storedCopy(for: .get())?.annotation == [4, 2])
    setting.cache.store(head(), content: [1], for: .get())
    #expect(setting.cache.storedCopy(for: .get())?.annotation == nil)
    setting.cache.store(head(), content: [1], for: .get(), annotation: [5])
    setting.cache.remove(.target(of: .get()))
    #expect(setting.cache.store.usage.memoryEntries == 0)
  }

  @Test("The hook changes the stored content, and the caller gets the original", arguments: [true, false])
  func hook(isStreamed: Bool) async throws {
    let setting = try Setting()
    let fields: HTTPFields = [
      .cacheControl: "max-age=60", .contentLength: "4",
      HTTPField.Name("Content-Digest") ?? .via: "sha-256=:AA==:",
    ]
    let response = try await setting.cache.respond(
      to: .get(),
      willStore: { proposal in
        #expect(proposal.response.status == .ok && proposal.request.path == "/")
        proposal.content += [5]
        proposal.annotation = [9]
      },
      transport: { _, _ in
        guard isStreamed else { return .ok("1234", fields) }
        let (stream, source) = AsyncThrowingStream.makeStream(of: ArraySlice<UInt8>.self)
        for byte in "1234".utf8 { source.yield([byte]) }
        source.finish()
        return .streamed(stream, fields)
      })
    #expect(try await response.body.collect(upTo: 10).elementsEqual("1234".utf8))
    #expect(await response.outcome.storage == .storedWithLifetime)
    let copy = try #require(setting.cache.storedCopy(for: .get()))
    #expect(copy.content.elementsEqual("1234".utf8 + [5]))
    #expect(copy.head.headerFields[.contentLength] == "5")
    #expect(copy.head.headerFields.count(where: { $0.name.canonicalName == "content-digest" }) == 0)
    #expect(copy.annotation == [9])
  }

  @Test(
    "A response that the hook refuses is not stored, and its final status says so"
  )
  func hookRefuses() async throws {
    let setting = try Setting()
    for _ in 1...2 {
      let response = try await setting.cache.respond(
        to: .get(), willStore: { $0.tiers = [] }, transport: { _, _ in .ok("x") })
      _ = try await response.body.collect(upTo: 10)
      let outcome = await response.outcome
      #expect(outcome.storage == .refusedByApplication)
      let name = try #require(HTTPField.Name("Cache-Status"))
      #expect(outcome.head.headerFields[values: name].count == 1)
      #expect(outcome.head.headerFields[name]?.hasSuffix("detail=refusedByApplication") == true)
      #expect(outcome.head.headerFields[name]?.contains("stored") == false)
    }
    #expect(setting.log.reasons(.notStored) == [.refusedByApplication, .refusedByApplication])
  }

  @Test("The hook cannot change the content of a part")
  func hookOfPart() async throws {
    let setting = try Setting()
    let part = TransportResponse(
      head: HTTPResponse(
        status: .partialContent,
        headerFields: [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentRange: "bytes 0-2/9"]),
      body: MessageBody([1, 2, 3]))
    let response = try await setting.cache.respond(
      to: .get(fields: [.range: "bytes=0-2"]), willStore: { $0.content = [9] }, transport: { _, _ in part })
    _ = try await response.body.collect(upTo: 10)
    let hit = try await setting.cache.respond(
      to: .get(fields: [.range: "bytes=1-2"]), transport: Self.failing)
    #expect(try await hit.body.collect(upTo: 10) == [2, 3])
  }

  @Test("An error that is not a disconnection reaches the caller unchanged, without a stale response")
  func fault() async throws {
    struct Untrusted: Error {}
    let setting = try Setting { $0.rules.whenDisconnected = .anyStored }
    setting.cache.store(head(), content: Array("kept".utf8), for: .get())
    setting.clock.advance(seconds: 100)
    await #expect(throws: Untrusted.self) {
      try await setting.cache.respond(to: .get(), transport: { _, _ in throw TransportFault(Untrusted()) })
    }
    let answer = try await setting.cache.respond(to: .get(), transport: { _, _ in throw Untrusted() })
    #expect(answer.reason == .staleWhileDisconnected)
  }
}
