import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The keys and values of a measurement, the same for every cache and made beforehand.
struct Dataset: Sendable {
  /// At most so many keys that are not there are asked for.
  static let mostAbsent = 1 << 14

  let count: Int
  let valueSize: Int
  /// Bytes of a key as our store has it.
  let keySize: Int
  let now: Timestamp
  let requests: [HTTPRequest]
  let storeKeys: [StoreKey]
  let absentRequests: [HTTPRequest]
  let bodies: [[UInt8]]
  /// What the origin said.
  let head: HTTPResponse
  /// The same as it lies in the store.
  let encodedHead: [UInt8]

  // Foundation's; empty where URLCache is left out.
  let urlRequests: [URLRequest]
  let absentURLRequests: [URLRequest]
  let cachedResponses: [SendableCachedResponse]

  init(count: Int, valueSize: Int, seed: UInt64, forFoundation: Bool) throws {
    self.count = count
    self.valueSize = valueSize
    now = SystemCacheClock.shared.now
    requests = (0..<count).map { Self.request($0) }
    absentRequests = (0..<min(count, Self.mostAbsent)).map { Self.request(count + $0) }
    storeKeys = requests.map { StoreKey(CacheKey($0)?.bytes ?? []) }
    keySize = storeKeys.first?.bytes.count ?? 0
    var generator = SplitMix64(seed: seed)
    bodies = (0..<count).map { _ in Self.body(valueSize, &generator) }
    head = Self.head(valueSize)
    guard let stored = Self.judge(Self.request(0), head, CacheEngine(.init(kind: .private)), now: now) else {
      throw BenchError.unprepared("the engine does not store the response that is to be measured with")
    }
    encodedHead = stored.encoded()
    guard forFoundation else {
      (urlRequests, absentURLRequests, cachedResponses) = ([], [], [])
      return
    }
    urlRequests = try (0..<count).map { try Self.urlRequest($0) }
    absentURLRequests = try absentRequests.indices.map { try Self.urlRequest(count + $0) }
    var fields: [String: String] = [:]
    for field in head.headerFields { fields[field.name.rawName] = field.value }
    cachedResponses = try zip(urlRequests, bodies).map { request, body in
      guard let url = request.url,
        let response = HTTPURLResponse(
          url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
      else { throw BenchError.unprepared("no response for \(request)") }
      return SendableCachedResponse(
        value: CachedURLResponse(
          response: response, data: Data(body), userInfo: nil, storagePolicy: .allowed))
    }
  }

  /// About the bytes of memory that a run with so many keys and bytes takes, all caches together.
  ///
  /// `nil` if the number is beyond all bounds.
  static func footprint(keys: Int, valueSize: Int, forFoundation: Bool) -> Int? {
    // The bodies, our copy of them, and Foundation's.
    let (bodies, overflow) = valueSize.multipliedReportingOverflow(by: forFoundation ? 3 : 2)
    let (perKey, overflow2) = bodies.addingReportingOverflow(forFoundation ? 6000 : 1500)
    let (all, overflow3) = perKey.multipliedReportingOverflow(by: keys)
    return overflow || overflow2 || overflow3 ? nil : all
  }

  /// What the engine makes of a response from the origin; `nil` if it is not to be stored.
  static func judge(
    _ request: HTTPRequest, _ head: HTTPResponse, _ engine: CacheEngine, now: Timestamp
  ) -> StoredResponse? {
    let plan = engine.plan(for: request, policy: .useProtocolCachePolicy, candidates: [], now: now)
    guard case .forward(let forwarding) = plan else { return nil }
    let outcome = engine.outcome(
      of: CacheEngine.Exchange(
        forwarding: forwarding, candidates: [], result: .response(head), requestTime: now, responseTime: now))
    guard case .store(let stored, _) = outcome.storage else { return nil }
    return stored
  }

  /// Reads a key and its body.
  func touch(_ key: Int) {
    let request = requests[key]
    let parts = [request.scheme, request.authority, request.path].compactMap { $0?.utf8 }
    BlackHole.take(parts.reduce(Self.sum(bodies[key])) { $0 &+ Self.sum($1) })
  }

  /// Reads Foundation's form of a key and its body.
  func touchFoundation(_ key: Int) {
    let path = urlRequests[key].url?.path.utf8.count ?? 0
    BlackHole.take(cachedResponses[key].value.data.withUnsafeBytes { Self.sum($0) } &+ path)
  }

  private static func sum(_ bytes: some Collection<UInt8>) -> Int {
    bytes.reduce(0) { $0 &+ Int($1) }
  }

  // MARK: - The parts

  private static let authority = "cache.example.com"

  /// A path that makes the key 64 bytes long; distinct paths, because URLCache on Linux ignores the query.
  private static func path(_ number: Int) -> String {
    let digits = String(number)
    return "/assets/images/objects/" + String(repeating: "0", count: max(0, 11 - digits.count)) + digits
      + ".webp"
  }

  // All requests share them: a million copies would take a gigabyte.
  private static let requestFields: HTTPFields = [
    .accept: "image/webp,*/*;q=0.8", .acceptEncoding: "gzip, deflate",
  ]

  static func request(_ number: Int) -> HTTPRequest {
    HTTPRequest(
      method: .get, scheme: "https", authority: authority, path: path(number), headerFields: requestFields)
  }

  private static func urlRequest(_ number: Int) throws -> URLRequest {
    guard let url = URL(string: "https://" + authority + path(number)) else {
      throw BenchError.unprepared("no URL for key \(number)")
    }
    var request = URLRequest(url: url)
    request.setValue("image/webp,*/*;q=0.8", forHTTPHeaderField: "Accept")
    request.setValue("gzip, deflate", forHTTPHeaderField: "Accept-Encoding")
    return request
  }

  static func head(_ valueSize: Int) -> HTTPResponse {
    HTTPResponse(
      status: .ok,
      headerFields: [
        .contentType: "image/webp", .contentLength: String(valueSize),
        .cacheControl: "public, max-age=86400, stale-while-revalidate=600", .eTag: "\"5f3a-61c7e0d9b2a40\"",
        .lastModified: "Tue, 02 Jan 2024 03:04:05 GMT", .server: "origin", .vary: "Accept-Encoding",
        .acceptRanges: "bytes",
      ])
  }

  static func body(_ size: Int, _ generator: inout SplitMix64) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      for offset in stride(from: 0, to: size, by: 8) {
        withUnsafeBytes(of: generator.next()) { word in
          raw[offset..<min(offset + 8, size)].copyBytes(from: word.prefix(size - offset))
        }
      }
      count = size
    }
  }
}
