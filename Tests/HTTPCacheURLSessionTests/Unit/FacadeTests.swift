// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCacheURLSession
import HTTPCaching
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("The interface of URLCache", .timeLimit(.minutes(10)))
struct FacadeTests {
  private let clock = ManualClock(Timestamp(seconds: 1_800_000_000))

  private func facade(_ configure: (inout CacheStore.Configuration) -> Void = { _ in }) throws -> HTTPURLCache
  {
    var configuration = CacheStore.Configuration(memoryCapacity: 4 << 20)
    configure(&configuration)
    return HTTPURLCache(
      HTTPCache(store: try CacheStore(configuration), configuration: .init(kind: .private), clock: clock))
  }

  private func request(_ path: String = "/", fields: [String: String] = [:]) throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: "http://a.example\(path)")))
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    return request
  }

  private func response(
    _ text: String, to request: URLRequest, fields: [String: String] = ["Cache-Control": "max-age=60"],
    userInfo: [AnyHashable: Any]? = nil, policy: URLCache.StoragePolicy = .allowed
  ) throws -> CachedURLResponse {
    let url = try #require(request.url)
    let head = try #require(
      HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields))
    return CachedURLResponse(
      response: head, data: Data(text.utf8), userInfo: userInfo, storagePolicy: policy)
  }

  private func text(_ cached: CachedURLResponse?) -> String? {
    cached.map { String(decoding: $0.data, as: UTF8.self) }
  }

  private func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = temporaryURL()
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }

  // MARK: - Responses

  @Test("A GET with a content stream is neither stored nor answered from the store")
  func contentStream() throws {
    let store = try CacheStore(.init(memoryCapacity: 4 << 20))
    let cache = HTTPURLCache(HTTPCache(store: store, configuration: .init(kind: .private)))
    let url = try #require(URL(string: "http://a.example/"))
    let plain = URLRequest(url: url)
    var request = plain
    request.httpBodyStream = InputStream(data: Data([1]))
    let head = HTTPURLResponse(
      url: url, statusCode: 200, httpVersion: nil, headerFields: ["Cache-Control": "max-age=60"])
    let response = CachedURLResponse(response: try #require(head), data: Data([1]))
    #expect(cache.storeCachedResponse(response, for: request) == .requestContent)
    #expect(cache.cachedResponse(for: plain) == nil)
    #expect(cache.storeCachedResponse(response, for: plain) == .storedWithLifetime)
    #expect(cache.cachedResponse(for: plain) != nil && cache.cachedResponse(for: request) == nil)
    // Of any other method it is as ever.
    request.httpMethod = "POST"
    #expect(cache.storeCachedResponse(response, for: request) != .requestContent)
  }

  @Test("Query strings and fields named by Vary distinguish responses")
  func keys() throws {
    let cache = try facade()
    let vary = ["Cache-Control": "max-age=60", "Vary": "Accept-Language"]
    for (path, language) in [("/?x=1", "de"), ("/?x=1", "en"), ("/?x=2", "de")] {
      let request = try request(path, fields: ["Accept-Language": language])
      cache.storeCachedResponse(try response(path + language, to: request, fields: vary), for: request)
    }
    for (path, language) in [("/?x=1", "de"), ("/?x=1", "en"), ("/?x=2", "de")] {
      let found = cache.cachedResponse(for: try request(path, fields: ["Accept-Language": language]))
      #expect(text(found) == path + language)
    }
    #expect(cache.cachedResponse(for: try request("/?x=2", fields: ["Accept-Language": "en"])) == nil)
    #expect(cache.cachedResponse(for: try request("/")) == nil)
  }

  @Test("A stored response is returned at any age, with its Age")
  func staleIsGiven() throws {
    let cache = try facade()
    cache.storeCachedResponse(try response("old", to: request()), for: try request())
    clock.advance(seconds: 3600)
    let found = try #require(cache.cachedResponse(for: try request()))
    #expect(text(found) == "old")
    #expect((found.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Age") == "3600")
  }

  @Test(
    "A response that the rules forbid to store is refused with the reason",
    arguments: [
      ("GET", "Cache-Control", "no-store", CacheEngine.Reason.responseNoStore),
      ("GET", "Cache-Control", "max-age=60", .storedWithLifetime),
      ("POST", "Cache-Control", "max-age=60", .methodNotStored),
      ("GET", "Content-Length", "5", .storedWithoutLifetime),
    ])
  func refused(method: String, name: String, value: String, reason: CacheEngine.Reason) throws {
    let cache = try facade()
    var asked = try request()
    asked.httpMethod = method
    #expect(
      cache.storeCachedResponse(try response("body", to: asked, fields: [name: value]), for: asked) == reason)
    #expect(
      (cache.cachedResponse(for: try request()) != nil)
        == [.storedWithLifetime, .storedWithoutLifetime].contains(reason))
  }

  /// Why the interface of `URLCache` does not store a response.
  enum Obstacle: CaseIterable {
    case plainResponse, invalidMethod, noURL, noMemory, onlyMemory, closed, notAFolder, lostFolder
  }

  @Test("Each obstacle to storing has its own reason", arguments: Obstacle.allCases)
  func obstacles(obstacle: Obstacle) throws {
    try withFolder { folder in
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let directory = folder.appendingPathComponent("cache")
      if obstacle == .notAFolder { try Data([1]).write(to: directory) }
      let hasDisk = [.onlyMemory, .notAFolder, .lostFolder].contains(obstacle)
      let cache = HTTPURLCache(
        memoryCapacity: 0, diskCapacity: hasDisk ? 4 << 20 : 0, directory: directory)
      var asked = try request()
      var answer = try response(
        "x", to: asked, policy: obstacle == .onlyMemory ? .allowedInMemoryOnly : .allowed)
      switch obstacle {
      case .plainResponse:
        let plain = URLResponse(
          url: try #require(asked.url), mimeType: "text/plain", expectedContentLength: 1,
          textEncodingName: nil)
        answer = CachedURLResponse(response: plain, data: Data([1]))
      case .invalidMethod: asked.httpMethod = "GE T"
      case .noURL: asked.url = nil
      case .closed: cache.cache.close()
      case .lostFolder:
        // Moved away, and a link that leads nowhere in its place: no directory can be made there.
        try FileManager.default.moveItem(at: directory, to: folder.appendingPathComponent("moved"))
        try FileManager.default.createSymbolicLink(atPath: directory.path, withDestinationPath: "/nowhere")
        cache.cache.flush()
      case .noMemory, .onlyMemory, .notAFolder: break
      }
      let expected: CacheEngine.Reason =
        switch obstacle {
        case .plainResponse: .responseNotHTTP
        case .invalidMethod: .methodNotStored
        case .noURL: .targetNotCacheable
        case .noMemory: .noCapacity
        case .onlyMemory: .tierWithoutCapacity
        case .closed: .storeClosed
        case .notAFolder: .diskUnavailable
        case .lostFolder: .diskFailing
        }
      #expect(cache.storeCachedResponse(answer, for: asked) == expected)
      cache.cache.close()
    }
  }

  @Test(
    "The storage policy decides where a response is stored",
    arguments: [URLCache.StoragePolicy.allowed, .allowedInMemoryOnly, .notAllowed])
  func storagePolicy(policy: URLCache.StoragePolicy) throws {
    try withFolder { folder in
      func open() -> HTTPURLCache {
        HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 4 << 20, directory: folder)
      }
      let cache = open()
      let reason = cache.storeCachedResponse(
        try response("x", to: request(), policy: policy), for: try request())
      #expect(reason == (policy == .notAllowed ? .refusedByApplication : .storedWithLifetime))
      #expect(
        cache.cachedResponse(for: try request())?.storagePolicy == (policy == .notAllowed ? nil : policy))
      #expect(cache.currentMemoryUsage > 0 || policy == .notAllowed)
      cache.cache.close()
      let again = open()
      #expect((again.cachedResponse(for: try request()) != nil) == (policy == .allowed))
      again.cache.close()
    }
  }

  @Test("userInfo is stored with its response, on disk too, if it is a property list")
  func userInfo() throws {
    try withFolder { folder in
      let cache = HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 4 << 20, directory: folder)
      struct Own {}
      let info: [AnyHashable: Any] = [
        "etag": "x", "count": 7, "when": Date(timeIntervalSince1970: 5), "own": Own(),
      ]
      cache.storeCachedResponse(try response("x", to: request(), userInfo: info), for: try request())
      cache.cache.close()
      let again = HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 4 << 20, directory: folder)
      let found = try #require(again.cachedResponse(for: try request())?.userInfo)
      #expect(found["etag"] as? String == "x")
      #expect(found["count"] as? Int == 7)
      #expect(found["when"] as? Date == Date(timeIntervalSince1970: 5))
      #expect(found.count == 3)
      again.storeCachedResponse(try response("y", to: request()), for: try request())
      #expect(again.cachedResponse(for: try request())?.userInfo == nil)
      again.cache.close()
    }
  }

  @Test("Responses are removed one by one, since a date, or all")
  func removal() throws {
    let cache = try facade()
    func store(_ path: String) throws {
      cache.storeCachedResponse(try response(path, to: request(path)), for: try request(path))
    }
    func isStored(_ path: String) throws -> Bool { cache.cachedResponse(for: try request(path)) != nil }
    try store("/early")
    clock.advance(seconds: 10)
    for path in ["/a", "/b"] { try store(path) }
    cache.removeCachedResponse(for: try request("/a"))
    #expect(try [isStored("/early"), isStored("/a"), isStored("/b")] == [true, false, true])
    cache.removeCachedResponses(since: Date(timeIntervalSince1970: Double(clock.now.milliseconds) / 1000 - 5))
    #expect(try [isStored("/early"), isStored("/b")] == [true, false])
    for date in [Date.distantFuture, Date(timeIntervalSince1970: .infinity)] {
      cache.removeCachedResponses(since: date)
      #expect(try isStored("/early"))
    }
    cache.removeCachedResponses(since: .distantPast)
    #expect(try !isStored("/early"))
    try store("/early")
    cache.removeAllCachedResponses()
    #expect(try !isStored("/early"))
    #expect(cache.currentMemoryUsage == 0)
  }

  @Test("The shared cache is the one that was set")
  func shared() throws {
    let cache = try facade()
    HTTPURLCache.shared = cache
    #expect(HTTPURLCache.shared === cache)
  }

  // MARK: - Size

  @Test("Capacities are as set, and usage stays within them")
  func capacity() throws {
    try withFolder { folder in
      let cache = HTTPURLCache(memoryCapacity: 1_500_000, diskCapacity: 6_000_000, directory: folder)
      #expect(cache.memoryCapacity == 1_500_000)
      #expect(cache.diskCapacity == 6_000_000)
      let body = String(repeating: "x", count: 20_000)
      for number in 0..<100 {
        let request = try request("/\(number)")
        cache.storeCachedResponse(try response(body, to: request), for: request)
      }
      #expect(cache.currentMemoryUsage > 1_000_000 && cache.currentMemoryUsage <= 1_500_000)
      #expect(cache.currentDiskUsage > 2_000_000 && cache.currentDiskUsage <= 6_000_000)
      cache.memoryCapacity = 100_000
      #expect(cache.memoryCapacity == 100_000)
      #expect(cache.currentMemoryUsage <= 100_000)
      cache.diskCapacity = 1 << 20
      #expect(cache.diskCapacity == 1 << 20)
      #expect(cache.currentDiskUsage <= 1 << 20)
      let used = cache.currentDiskUsage
      // What waits to be written counts already, and what is written when the cache is closed.
      cache.cache.close()
      let onDisk = try FileManager.default.contentsOfDirectory(atPath: folder.path).reduce(0) {
        $0 + (try Data(contentsOf: folder.appendingPathComponent($1)).count)
      }
      // The file of the lock counts as much as it may have.
      #expect((0..<64).contains(used - onDisk))
    }
  }

  @Test("A disk capacity of 0 empties the disk, and raising it enables the disk again")
  func noDisk() throws {
    try withFolder { folder in
      let cache = HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 4 << 20, directory: folder)
      cache.storeCachedResponse(try response("x", to: request("/a")), for: try request("/a"))
      let before = cache.currentDiskUsage
      cache.diskCapacity = 0
      #expect(cache.diskCapacity == 0)
      let empty = cache.currentDiskUsage
      #expect(empty < before)
      cache.storeCachedResponse(try response("x", to: request("/b")), for: try request("/b"))
      #expect(cache.cachedResponse(for: try request("/b")) != nil)
      #expect(cache.currentDiskUsage == empty)
      cache.diskCapacity = 4 << 20
      cache.storeCachedResponse(try response("x", to: request("/c")), for: try request("/c"))
      cache.memoryCapacity = 0
      #expect(cache.cachedResponse(for: try request("/b")) == nil)
      #expect(text(cache.cachedResponse(for: try request("/c"))) == "x")
      cache.cache.close()
    }
  }

  @Test("Clearing memory keeps what is on disk, and loses what only memory holds")
  func clearMemory() throws {
    try withFolder { folder in
      let cache = HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 4 << 20, directory: folder)
      for (path, policy) in [("/disk", URLCache.StoragePolicy.allowed), ("/memory", .allowedInMemoryOnly)] {
        let request = try request(path)
        cache.storeCachedResponse(try response(path, to: request, policy: policy), for: request)
      }
      cache.clearMemory()
      #expect(cache.currentMemoryUsage == 0 && cache.memoryCapacity == 1 << 20)
      #expect(text(cache.cachedResponse(for: try request("/disk"))) == "/disk")
      #expect(cache.cachedResponse(for: try request("/memory")) == nil)
      #expect(cache.currentMemoryUsage > 0)
      cache.cache.close()
    }
  }

  @Test("A cache without a disk creates no folder")
  func memoryOnly() throws {
    try withFolder { folder in
      let cache = HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 0, directory: folder)
      cache.storeCachedResponse(try response("x", to: request()), for: try request())
      #expect(cache.diskCapacity == 0)
      #expect(cache.diskError == nil)
      #expect(!FileManager.default.fileExists(atPath: folder.path))
    }
  }

  @Test("If the folder is in use, the cache works in memory and reports the error")
  func folderInUse() throws {
    try withFolder { folder in
      let first = HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 4 << 20, diskPath: folder.path)
      let second = HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 4 << 20, diskPath: folder.path)
      #expect(first.diskError == nil)
      #expect("\(try #require(second.diskError))".contains("in use"))
      #expect(second.diskCapacity == 0)
      second.storeCachedResponse(try response("x", to: request()), for: try request())
      #expect(text(second.cachedResponse(for: try request())) == "x")
      first.cache.close()
    }
  }

  @Test("A folder with an unreadable cache begins empty, keeps its disk, and reports the error")
  func unreadableFolder() throws {
    try withFolder { folder in
      let request = try request()
      func open() -> HTTPURLCache {
        HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 4 << 20, diskPath: folder.path)
      }
      let first = open()
      first.storeCachedResponse(try response("x", to: request), for: request)
      first.cache.close()
      let format = folder.appendingPathComponent("format")
      var bytes = try Data(contentsOf: format)
      bytes[bytes.count / 2] ^= 0xFF
      try bytes.write(to: format)
      let second = open()
      #expect(second.diskError as? StoreError != nil && second.diskCapacity == 4 << 20)
      #expect(second.cachedResponse(for: request) == nil)
      second.storeCachedResponse(try response("y", to: request), for: request)
      second.cache.close()
      let third = open()
      #expect(third.diskError == nil)
      #expect(text(third.cachedResponse(for: request)) == "y")
      third.cache.close()
    }
  }

  @Test("A folder is made with its parents, for this user only")
  func parents() throws {
    try withFolder { folder in
      let deep = folder.appendingPathComponent("a/b/c")
      let cache = HTTPURLCache(memoryCapacity: 1 << 20, diskCapacity: 4 << 20, directory: deep)
      #expect(cache.diskError == nil)
      cache.cache.close()
      let mode = try FileManager.default.attributesOfItem(atPath: deep.path)[.posixPermissions] as? NSNumber
      #expect(mode?.intValue == 0o700)
    }
  }
}
