// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// One cell of the matrix with a key: everything that the origin needs to know of a resource, and so its URL.
///
/// The origin keeps no state. Origin and clients compute the content from the path, so that content of another resource,
/// of another variant or from another position does not go unnoticed.
struct Cell: Hashable, Sendable {
  enum Validator: String, CaseIterable, Sendable { case none, weak, strong, date }
  enum Framing: String, CaseIterable, Sendable { case length, chunked, close }
  enum Behaviour: String, CaseIterable, Sendable { case quick, slow, cut, silent }

  static let statuses = [200, 204, 206, 301, 304, 404, 410, 500]
  static let sizes = [0, 10, 3 << 10, 100 << 10, large]
  static let large = 5 << 20

  var validator: Validator
  var framing: Framing
  /// 206 stands for a resource whose clients always ask for a range, 304 for one whose clients always send a
  /// precondition. Without those fields, the origin answers both with 200.
  var status: Int
  var isCacheable: Bool
  /// Whether the content depends on the request field `X-Variant`.
  var varies: Bool
  var size: Int
  var origin: Behaviour
  /// Tells resources of the same cell apart, and decides what is not worth a dimension.
  var key: UInt64

  static let count =
    Validator.allCases.count * Framing.allCases.count * statuses.count * 2 * 2 * sizes.count
    * Behaviour.allCases.count

  /// The cell at a position of the matrix, from 0 up to ``count``.
  init(at position: Int, key: UInt64) {
    var rest = position
    func digit<Values: RandomAccessCollection>(_ values: Values) -> Values.Element {
      defer { rest /= values.count }
      return values[values.index(values.startIndex, offsetBy: rest % values.count)]
    }
    validator = digit(Validator.allCases)
    framing = digit(Framing.allCases)
    status = digit(Self.statuses)
    isCacheable = digit([false, true])
    varies = digit([false, true])
    size = digit(Self.sizes)
    origin = digit(Behaviour.allCases)
    self.key = key
  }

  // MARK: - Path

  var path: String {
    "/v=\(validator.rawValue)/f=\(framing.rawValue)/s=\(status)/c=\(isCacheable ? 1 : 0)/vary=\(varies ? 1 : 0)"
      + "/n=\(size)/o=\(origin.rawValue)/k=\(key)"
  }

  init?(path: some StringProtocol) {
    var values: [Substring: Substring] = [:]
    for part in String(path).split(separator: "/") {
      let pair = part.split(separator: "=", maxSplits: 1)
      guard pair.count == 2 else { return nil }
      values[pair[0]] = pair[1]
    }
    func number(_ name: Substring) -> Int? { values[name].flatMap { Int($0) } }
    guard let validator = values["v"].flatMap({ Validator(rawValue: String($0)) }),
      let framing = values["f"].flatMap({ Framing(rawValue: String($0)) }),
      let status = number("s"), let cacheable = number("c"), let vary = number("vary"),
      let size = number("n"), let origin = values["o"].flatMap({ Behaviour(rawValue: String($0)) }),
      let key = values["k"].flatMap({ UInt64($0) })
    else { return nil }
    (self.validator, self.framing, self.status, self.origin) = (validator, framing, status, origin)
    (isCacheable, varies, self.size, self.key) = (cacheable == 1, vary == 1, size, key)
  }

  // MARK: - What follows from it

  /// The status of a response to a request without a range or a precondition.
  var plainStatus: Int { status == 206 || status == 304 ? 200 : status }
  var contentLength: Int { status == 204 ? 0 : size }
  /// Whether a client may get an error or half of the content.
  var mayFail: Bool { origin == .cut || origin == .silent }
  /// Where a 301 leads.
  var redirectTarget: Cell {
    var target = self
    target.status = 200
    return target
  }

  /// Whether one in so many keys has a feature; each feature has its own number.
  func isOne(in share: UInt64, _ feature: UInt64) -> Bool { (key &* 31 &+ feature &* 7) % share == 0 }

  /// The variant that a request with this value of `X-Variant` selects.
  func variant(_ asked: Int) -> Int { varies ? asked : 0 }
  func content(variant asked: Int, isPost: Bool = false) -> Content {
    Content(of: path, number: UInt64(variant(asked)) + (isPost ? 100 : 0), size: contentLength)
  }

  static let lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"

  func entityTag(variant asked: Int) -> String? {
    let tag = "\"\(key)-\(size)-\(variant(asked))\""
    return switch validator {
    case .weak: "W/" + tag
    case .strong: tag
    case .none, .date: nil
    }
  }
}
