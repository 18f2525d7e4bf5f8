import HTTPCacheEngine
import HTTPTypes
import RawStructuredFieldValues

/// What must hold of what is written for others to read.
enum CodingProperties {
  /// Whatever is read from a store can be written, and used.
  static func storedForm(_ bytes: [UInt8]) throws {
    guard var stored = StoredResponse(decoding: bytes[...]) else { return }
    let encoded = stored.encoded()
    guard let again = StoredResponse(decoding: encoded[...]) else {
      throw Violation(description: "cannot be read again: \(stored)")
    }
    try require(again == stored, "unstable: \(stored)")
    try require(again.encoded() == encoded, "two forms: \(stored)")
    stored.contentLength = Int64(bytes.count)
    var model = ModelCache(kind: .private)
    model.candidates = [stored]
    model.isTrusted = false
    var request = HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/r")
    try model.exchange(request, .failure)
    request.headerFields[.range] = "bytes=1-2,4-"
    try model.exchange(request, .response(HTTPResponse(status: .notModified)))
  }

  /// What is written as Cache-Status is a structured field with one member (RFC 9211 §2).
  static func cacheStatus(_ bytes: [UInt8]) throws {
    var numbers = InputNumbers(bytes)
    let status = CacheStatus(
      cache: "HTTPCacheEngine", isHit: numbers.bool(),
      forward: numbers.bool() ? numbers.pick(CacheStatus.Forward.allCases) : nil,
      forwardStatus: numbers.bool() ? numbers.pick(Vocabulary.statuses) : nil,
      timeToLive: numbers.bool() ? min(numbers.seconds(), 999_999_999_999_999) : nil,
      isStored: numbers.bool(),
      isCollapsed: numbers.bool(), detail: numbers.bool() ? numbers.pick(Reason.allCases) : nil)
    var parser = StructuredFieldValueParser(Array(status.fieldValue.utf8))
    let list = try parser.parseListFieldValue()
    try require(list.count == 1, "no one member: \(status.fieldValue)")
    guard case .item(let item) = list.first else {
      throw Violation(description: "no item: \(status.fieldValue)")
    }
    try require(item.rfc9651Parameters["hit"] == (status.isHit ? .bool(true) : nil), status.fieldValue)
    try require(item.rfc9651Parameters["ttl"] == status.timeToLive.map { .integer($0) }, status.fieldValue)
  }
}
