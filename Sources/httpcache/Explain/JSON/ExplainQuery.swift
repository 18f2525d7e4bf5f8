// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// One line of input of `httpcache explain --json`: a request and its response, and a later request.
struct ExplainQuery: Decodable {
  var cache: CacheEngine.Configuration.Kind
  /// The policy of the later request; the first request reached the origin.
  var policy: RequestCachePolicy
  var request: Request
  var response: Response
  var later: Later
  var options: Options

  struct Request: Decodable {
    var head: HTTPRequest

    private enum CodingKeys: String, CodingKey { case method, url, headers }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      let methodText = try values.decodeIfPresent(String.self, forKey: .method) ?? "GET"
      guard let method = HTTPRequest.Method(methodText) else {
        throw values.problem(.method, "expected a method, found \(methodText.excerpt)")
      }
      let url = try values.decode(String.self, forKey: .url)
      guard let target = ExplainCommand.target(url) else {
        throw values.problem(.url, "expected a URL such as https://example.com/path, found \(url.excerpt)")
      }
      head = HTTPRequest(
        method: method, scheme: target.scheme, authority: target.authority, path: target.path,
        headerFields: try values.fields(.headers))
    }
  }

  struct Response: Decodable {
    var head: HTTPResponse

    private enum CodingKeys: String, CodingKey { case status, headers }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      let code = try values.decode(Int.self, forKey: .status)
      guard (100...999).contains(code) else {
        throw values.problem(.status, "expected a status code of three digits, found \(code)")
      }
      head = HTTPResponse(status: .init(code: code), headerFields: try values.fields(.headers))
    }
  }

  struct Later: Decodable {
    /// Milliseconds after the arrival of the response.
    var milliseconds: Int64
    /// `nil` repeats the same request.
    var request: Request?

    /// The same request, repeated at once.
    static let atOnce = Later(milliseconds: 0, request: nil)

    private enum CodingKeys: String, CodingKey { case afterSeconds, request }

    init(milliseconds: Int64, request: Request?) {
      (self.milliseconds, self.request) = (milliseconds, request)
    }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      let seconds = try values.decodeIfPresent(Double.self, forKey: .afterSeconds) ?? 0
      guard seconds >= 0 else { throw values.problem(.afterSeconds, "expected 0 or more seconds") }
      // A million years is enough, and fits.
      milliseconds = Int64((min(seconds, 3e13) * 1000).rounded())
      request = try values.decodeIfPresent(Request.self, forKey: .request)
    }
  }

  struct Options: Decodable {
    var heuristics = true
    /// When the response arrives, as an HTTP date.
    var now: String?

    init() {}

    private enum CodingKeys: String, CodingKey { case heuristics, now }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      heuristics = try values.decodeIfPresent(Bool.self, forKey: .heuristics) ?? true
      now = try values.decodeIfPresent(String.self, forKey: .now)
      if let now, HTTPDate(parsing: now, now: Timestamp(milliseconds: 0)) == nil {
        throw values.problem(
          .now, "expected a date such as Sun, 06 Nov 1994 08:49:37 GMT, found \(now.excerpt)")
      }
    }
  }

  private enum CodingKeys: String, CodingKey { case cache, policy, request, response, later, options }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    cache = try values.choice(.cache) ?? .private
    policy = try values.choice(.policy) ?? .useProtocolCachePolicy
    request = try values.decode(Request.self, forKey: .request)
    response = try values.decode(Response.self, forKey: .response)
    later = try values.decodeIfPresent(Later.self, forKey: .later) ?? .atOnce
    options = try values.decodeIfPresent(Options.self, forKey: .options) ?? Options()
  }

  /// - Throws: `ExplainQueryError` for an invalid line.
  init(parsing line: [UInt8]) throws {
    do {
      self = try JSONDecoder().decode(Self.self, from: Data(line))
    } catch let error as DecodingError {
      throw ExplainQueryError(error)
    }
  }
}

extension KeyedDecodingContainer {
  fileprivate func problem(_ key: Key, _ text: String) -> DecodingError {
    .dataCorruptedError(forKey: key, in: self, debugDescription: text)
  }

  /// Returns one of the cases of an enumeration, or `nil` if the key is missing.
  fileprivate func choice<Choice: RawRepresentable<String> & CaseIterable>(_ key: Key) throws -> Choice? {
    guard let text = try decodeIfPresent(String.self, forKey: key) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      throw problem(key, "expected one of \(choices), found \(text.excerpt)")
    }
    return choice
  }

  /// Reads `[[name, value], …]`; a name may occur more than once.
  fileprivate func fields(_ key: Key) throws -> HTTPFields {
    var fields = HTTPFields()
    for pair in try decodeIfPresent([[String]].self, forKey: key) ?? [] {
      guard pair.count == 2 else { throw problem(key, "expected a list of [name, value] pairs") }
      guard let name = HTTPField.Name(pair[0]) else {
        throw problem(key, "expected a field name, found \(pair[0].excerpt)")
      }
      fields.append(HTTPField(name: name, value: pair[1]))
    }
    return fields
  }
}

/// An error in a line, as text.
struct ExplainQueryError: Error, Hashable {
  var text: String

  init(_ text: String) {
    self.text = text
  }

  init(_ error: DecodingError) {
    switch error {
    case .keyNotFound(let key, let context):
      text = Self.place(context.codingPath + [key]) + "the key is missing"
    case .typeMismatch(let type, let context):
      text = Self.place(context.codingPath) + "expected \(Self.name(of: type))"
    case .valueNotFound(let type, let context):
      text = Self.place(context.codingPath) + "expected \(Self.name(of: type)), found null"
    case .dataCorrupted(let context):
      let place = Self.place(context.codingPath)
      text = place.isEmpty ? "not valid JSON" : place + context.debugDescription
    @unknown default:
      text = "not JSON of the expected form"
    }
  }

  private static func place(_ path: [any CodingKey]) -> String {
    var place = ""
    for key in path {
      if let index = key.intValue {
        place += "[\(index)]"
      } else {
        place += (place.isEmpty ? "" : ".") + key.stringValue
      }
    }
    return place.isEmpty ? "" : place + ": "
  }

  private static func name(of type: any Any.Type) -> String {
    switch type {
    case is String.Type: "a string"
    case is Bool.Type: "true or false"
    case is any BinaryInteger.Type: "a whole number"
    case is any BinaryFloatingPoint.Type: "a number"
    case is any Collection.Type where !(type is [String: Any].Type): "a list"
    default: "an object"
    }
  }
}
