// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// What a value in a file of scenarios must be.
enum Shape: Sendable {
  case any, flag, text, texts, method, count, number
  /// `[code, phrase?]`.
  case status
  /// A number or `null`.
  case code
  /// `[[name, value]]` or `[[name, value, flag]]`.
  case fields
  /// `name`, `[name, value]`, `[name, "=", name]` or `[name, ">", integer]`, in an array.
  case expectedFields
  /// `[status]` or `[status, [[name, value]]]`, in an array.
  case interim
  case oneOf([String])
  case someOf([String])
  indirect case or(Shape, JSONValue)

  /// Returns what was expected; `nil` if the value is right.
  func objection(to value: JSONValue) -> String? { isMatched(by: value) ? nil : description }

  private func isMatched(by value: JSONValue) -> Bool {
    switch (self, value) {
    case (.any, _), (.flag, .bool), (.text, .string), (.number, .number): true
    case (.count, _): (value.integer ?? -1) >= 0
    case (.code, _): value == .null || Self.isStatus(value)
    case (.method, .string(let text)): HTTPRequest.Method(rawValue: text) != nil
    case (.oneOf(let texts), .string(let text)): texts.contains(text)
    case (.someOf(let texts), .array(let values)):
      values.allSatisfy { $0.text.map(texts.contains) ?? false }
    case (.texts, .array(let values)): values.allSatisfy { $0.text != nil }
    case (.status, .array(let values)):
      (1...2).contains(values.count) && Self.isStatus(values[0])
        && values.dropFirst().allSatisfy { $0.text != nil || $0 == .null }
    case (.fields, .array(let values)): values.allSatisfy { FieldSpecification($0) != nil }
    case (.expectedFields, .array(let values)):
      values.allSatisfy { value in
        value.text != nil || (2...3).contains(value.list?.count ?? 0) && value.list?.first?.text != nil
      }
    case (.interim, .array(let values)):
      values.allSatisfy { value in
        guard let list = value.list, let first = list.first, Self.isStatus(first) else { return false }
        return list.dropFirst().allSatisfy { Shape.fields.isMatched(by: $0) }
      }
    case (.or(let shape, let other), _): value == other || shape.isMatched(by: value)
    default: false
    }
  }

  private static func isStatus(_ value: JSONValue) -> Bool {
    value.integer.map { (100...999).contains($0) } ?? false
  }

  private var description: String {
    switch self {
    case .any: "a value"
    case .flag: "true or false"
    case .text: "a text"
    case .texts: "an array of texts"
    case .method: "a method"
    case .count: "0 or more"
    case .number: "a number"
    case .status: "a status code of three digits in an array"
    case .code: "a status code of three digits, or null"
    case .fields: "an array of [name, value]"
    case .expectedFields: "an array of names, [name, value], [name, \"=\", name] or [name, \">\", integer]"
    case .interim: "an array of [status] or [status, fields]"
    case .oneOf(let texts): "one of \(texts.joined(separator: ", "))"
    case .someOf(let texts): "some of \(texts.joined(separator: ", "))"
    case .or(let shape, let other): "\(shape.description), or \(other.shown)"
    }
  }
}

extension JSONValue {
  fileprivate var shown: String {
    switch self {
    case .string(let text): "\"\(text)\""
    default: "null"
    }
  }
}

extension Step {
  private static let reasons = CacheEngine.Reason.allCases.map(\.rawValue)

  /// The names of a step; see Format.md. Those of a browser's `fetch` have no meaning here.
  static let shapes: [String: Shape] = [
    "mode": .text, "credentials": .text, "cache": .text, "redirect": .text, "dump": .flag,
    "request_method": .method, "request_headers": .fields, "request_body": .text, "filename": .text,
    "query_arg": .text, "url": .text, "magic_ims": .flag,
    "policy": .oneOf(RequestCachePolicy.allCases.map(\.rawValue)), "pause_after": .flag,
    "advance_after": .number, "interim_responses": .interim, "response_pause": .number,
    "response_status": .status, "response_headers": .fields, "rfc850date": .texts, "magic_locations": .flag,
    "response_body": .or(.text, .null), "validates": .flag, "ranges": .or(.flag, .string("always")),
    "disconnect": .flag, "truncate_after": .count,
    "expected_type": .or(.oneOf(["cached", "not_cached", "etag_validated", "lm_validated"]), .null),
    "expected_status": .code, "expected_response_text": .or(.text, .null),
    "expected_response_headers": .expectedFields, "expected_response_headers_missing": .expectedFields,
    "expected_interim_responses": .interim, "expected_method": .or(.method, .null),
    "expected_request_headers": .expectedFields, "expected_request_headers_missing": .expectedFields,
    "expected_request_body": .text,
    "expected_source": .oneOf(["hit", "stale", "validated", "network", "generated", "error"]),
    "expected_reason": .oneOf(reasons), "expected_storage": .oneOf(reasons),
    "expected_cache_status": .texts, "expected_cache_status_missing": .texts,
    "expected_origin_requests": .count,
    "check_body": .flag, "setup": .flag, "setup_tests": .texts,
  ]
}
