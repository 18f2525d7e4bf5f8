// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// How an origin marks, frames and varies its responses. A cache stores and revalidates each shape in another way.
///
/// A response names its version in the field `Version`. Its content depends on the version and on the language, so a head
/// with the content of another response is noticed.
package struct ResponseShape: Sendable, Hashable, CustomStringConvertible {
  package enum Validator: Sendable, CaseIterable {
    case none, strongTag, weakTag, lastModified, both

    var hasTag: Bool { self == .strongTag || self == .weakTag || self == .both }
    var hasDate: Bool { self == .lastModified || self == .both }
  }

  /// Whether the length is known, and whether the content arrives in pieces.
  package enum Framing: Sendable, CaseIterable {
    case whole, pieces, unknownLength
  }

  package enum Variation: Sendable, CaseIterable {
    case none, language, languageAndEncoding

    package var value: String? {
      switch self {
      case .none: nil
      case .language: "Accept-Language"
      case .languageAndEncoding: "Accept-Encoding, Accept-Language"
      }
    }
  }

  package var validator = Validator.strongTag
  package var framing = Framing.whole
  package var status = HTTPResponse.Status.ok
  /// Bytes of the content.
  package var size = 1
  package var variation = Variation.none
  /// Whether the response belongs to the group `g`.
  package var hasGroup = false
  /// Whether its lifetime comes from `Last-Modified`, and not from `Cache-Control`.
  package var isHeuristic = false

  package init() {}

  package var description: String {
    "\(status.code) \(validator) \(framing) \(size) bytes, varies on \(variation)"
      + (hasGroup ? ", in a group" : "") + (isHeuristic ? ", heuristic lifetime" : "")
  }

  /// Whether the origin can confirm a stored response.
  package var isConfirmable: Bool { validator != .none }

  /// Seconds until a response is stale.
  package var lifetime: Int64 { isHeuristic ? 86_400 : 600 }

  // MARK: - Tables

  /// Statuses that a cache stores without an explicit lifetime.
  static let heuristicStatuses: [HTTPResponse.Status] = [
    .ok, .nonAuthoritativeInformation, .multipleChoices, .movedPermanently, .permanentRedirect, .notFound,
    .methodNotAllowed, .gone, .uriTooLong, .notImplemented,
  ]
  /// Statuses that a cache stores only with an explicit lifetime.
  static let explicitStatuses: [HTTPResponse.Status] = [.found, .seeOther, .temporaryRedirect, .forbidden]
  /// Sizes within the entry's block, apart from it, and in a file of its own; and around ``tierLimit``.
  package static let sizes = [0, 1, 1000, tierLimit - 1, tierLimit, tierLimit + 1, 5000, 300_000]
  /// The tests of a tier set its limit for content in pieces to this number of bytes.
  package static let tierLimit = 4096

  /// Makes a shape of random values.
  package init(drawnBy random: inout SplitMix64) {
    func one<Value>(of values: [Value]) -> Value { values[Int.random(in: values.indices, using: &random)] }
    validator = one(of: Validator.allCases)
    framing = one(of: Framing.allCases)
    size = one(of: Self.sizes)
    variation = one(of: Variation.allCases)
    drawRest(&random)
  }

  /// Draws what is allowed with the values so far.
  private mutating func drawRest(_ random: inout SplitMix64) {
    hasGroup = Bool.random(using: &random)
    isHeuristic = validator.hasDate && Bool.random(using: &random)
    let statuses = Self.heuristicStatuses + (isHeuristic ? [] : Self.explicitStatuses)
    status = statuses[Int.random(in: statuses.indices, using: &random)]
  }

  /// Each validator with each framing and each size. The other values are drawn.
  package static let table: [ResponseShape] = {
    var random = SplitMix64(seed: 1)
    var shapes: [ResponseShape] = []
    for validator in Validator.allCases {
      for framing in Framing.allCases {
        for size in sizes {
          var shape = ResponseShape()
          (shape.validator, shape.framing, shape.size) = (validator, framing, size)
          shape.variation = Variation.allCases[shapes.count % Variation.allCases.count]
          shape.drawRest(&random)
          shapes.append(shape)
        }
      }
    }
    return shapes
  }()

  /// Shapes for tests that need a few: the simplest, and one for each validator with the other values drawn.
  package static let few: [ResponseShape] = {
    var random = SplitMix64(seed: 2)
    return [ResponseShape()]
      + Validator.allCases.map { validator in
        var shape = ResponseShape(drawnBy: &random)
        shape.validator = validator
        shape.drawRest(&random)
        return shape
      }
  }()
}

// MARK: - Responses

extension ResponseShape {
  /// The language that a variant is for; empty if the response does not vary.
  private func language(_ request: HTTPRequest) -> String {
    variation == .none ? "" : request.headerFields[.acceptLanguage] ?? "none"
  }

  /// The entity tag of a version; `nil` if the shape has none.
  package func tag(_ version: Int, for request: HTTPRequest) -> String? {
    guard validator.hasTag else { return nil }
    let variant = language(request)
    return (validator == .weakTag ? "W/" : "") + "\"\(version)\(variant.isEmpty ? "" : "-" + variant)\""
  }

  /// The content of a version.
  package func content(_ version: Int, for request: HTTPRequest) -> [UInt8] {
    let variant = language(request).utf8.reduce(0) { $0 &* 31 &+ Int($1) }
    // A prime: versions and variants begin at other bytes.
    let start = (version &* 7919 &+ variant &* 104_729) & 0xFFFF
    return Self.noise.withUnsafeBytes { noise in
      // A copy at once: without optimisation, one of each byte takes long.
      [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        UnsafeMutableRawBufferPointer(buffer).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: noise[start..<start + size]))
        count = size
      }
    }
  }

  /// Bytes without a pattern, so that content whose pieces are in another order is noticed.
  private static let noise: [UInt8] = {
    var random = SplitMix64(seed: 3)
    return (0..<(1 << 19) / 8).flatMap { _ in
      let number = random.next()
      return (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
  }()

  private static let versionName = HTTPField.Name("Version")
  private static let groupsName = HTTPField.Name("Cache-Groups")

  /// The fields of a 304, which are also in a response with content.
  private func sharedFields(_ version: Int, for request: HTTPRequest) -> HTTPFields {
    var fields = HTTPFields()
    if !isHeuristic { fields[.cacheControl] = "max-age=600" }
    fields[.eTag] = tag(version, for: request)
    fields[.vary] = variation.value
    if hasGroup, let name = Self.groupsName { fields[name] = "\"g\"" }
    if validator.hasDate { fields[.lastModified] = Self.date(version) }
    return fields
  }

  /// A second of a day in 1994.
  private static func date(_ version: Int) -> String {
    func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let (hours, minutes, seconds) = (version / 3600 % 24, version / 60 % 60, version % 60)
    return "Sun, 06 Nov 1994 \(digits(hours)):\(digits(minutes)):\(digits(seconds)) GMT"
  }

  /// The origin's response to a request.
  package func response(_ version: Int, to request: HTTPRequest) -> TransportResponse {
    var fields = sharedFields(version, for: request)
    if confirms(request, version) {
      return TransportResponse(head: HTTPResponse(status: .notModified, headerFields: fields))
    }
    if let name = Self.versionName { fields[name] = "\(version)" }
    if variation != .none { fields[.contentLanguage] = language(request) }
    let content = content(version, for: request)
    if framing != .unknownLength { fields[.contentLength] = "\(content.count)" }
    let body =
      framing == .whole
      ? MessageBody(content)
      : MessageBody(Self.stream(content), length: framing == .pieces ? content.count : nil)
    return TransportResponse(head: HTTPResponse(status: status, headerFields: fields), body: body)
  }

  /// Whether a conditional request is about a version (RFC 9110 §13.1).
  private func confirms(_ request: HTTPRequest, _ version: Int) -> Bool {
    if let known = request.headerFields[.ifNoneMatch] {
      guard let tag = tag(version, for: request) else { return false }
      return known.split(separator: ",").contains { $0.drop { $0 == " " } == tag }
    }
    return validator.hasDate && request.headerFields[.ifModifiedSince] == Self.date(version)
  }

  private static func stream(_ content: [UInt8]) -> AsyncThrowingStream<ArraySlice<UInt8>, any Error> {
    AsyncThrowingStream { source in
      for start in stride(from: 0, to: content.count, by: 10_000) {
        source.yield(content[start..<min(start + 10_000, content.count)])
      }
      source.finish()
    }
  }

  /// Reads a response as a client got it.
  ///
  /// - Returns: its version, or what differs from the origin's response of that version.
  package func read(_ head: HTTPResponse, _ content: ArraySlice<UInt8>, for request: HTTPRequest) -> String {
    let fields = head.headerFields
    guard let text = Self.versionName.flatMap({ fields[$0] }), let version = Int(text) else {
      return "without a version: \(head)"
    }
    guard head.status == status else { return "version \(version) with status \(head.status.code)" }
    guard areEqual(content, self.content(version, for: request)[...]) else {
      return "version \(version) with other content: \(content.count) bytes"
    }
    var expected = sharedFields(version, for: request)
    if variation != .none { expected[.contentLanguage] = language(request) }
    for field in expected where fields[field.name] != field.value {
      return "version \(version) with \(field.name): \(fields[field.name] ?? "nothing")"
    }
    if let length = fields[.contentLength], length != "\(content.count)" {
      return "version \(version) with Content-Length: \(length)"
    }
    return text
  }
}
