// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import HTTPTypes
import TestSupport
import Testing

/// An application behind a recipe: what it sends for which requests, and who visits it.
struct RecipeApplication: Sendable, CustomTestStringConvertible {
  /// The page and the heading of the recipe.
  var page = "Rules"
  var heading: String
  /// The first one that fits answers.
  var routes: [Route]
  /// The fields of each visitor's requests.
  var visitors: [String: [Field]]
  /// Paths that each visitor requests.
  var paths: [String]
  /// Requests of two visitors, the second of which needs no origin.
  var shared: [(path: String, first: String, second: String)] = []
  /// Paths whose stored response answers when the origin fails, some seconds after it has become stale.
  var survives: [(path: String, visitor: String, age: Int64)] = []
  /// How a visitor signs in; `nil` for a recipe without a bypass for users.
  var signIn: SignIn?

  typealias Field = (name: String, value: String)

  struct Route: Sendable {
    /// With `*` at the end for all that begin so.
    var path: String
    var method = "GET"
    /// A cookie that the request must have, with `*` at the end likewise.
    var cookie: String?
    /// A field that it must have.
    var field: String?
    var status = 200
    var fields: [Field] = []
    /// What the content depends on.
    var shows: [Shown] = []
  }

  /// A part of the request, with `*` at the end of the name of a cookie likewise.
  enum Shown: Sendable {
    case cookie(String)
    case field(String)
  }

  struct SignIn: Sendable {
    /// Where the visitor posts her name.
    var path: String
    /// The name of a cookie that the origin then sets.
    var cookie: String
    /// A page that is hers then.
    var page: String
  }

  var testDescription: String { "\(page): \(heading)" }

  // MARK: - The origin

  /// The content of the answer to a visitor who alone uses the application.
  func page(for request: HTTPRequest) -> String { answer(to: request).text }

  /// Answers as the application does.
  func response(to request: HTTPRequest) -> TransportResponse {
    let answer = answer(to: request)
    return .ok(answer.text, answer.fields, status: .init(code: answer.status))
  }

  private func answer(to request: HTTPRequest) -> (status: Int, fields: HTTPFields, text: String) {
    let path = String((request.path ?? "/").prefix { $0 != "?" })
    let cookies = Self.cookies(of: request)
    let method = request.method == .head ? "GET" : request.method.rawValue
    let route = routes.first { route in
      Self.isLike(path, route.path) && route.method == method
        && route.cookie.map { cookie in cookies.contains { Self.isLike($0.name, cookie) } } != false
        && route.field.flatMap { HTTPField.Name($0) }.map { request.headerFields.contains($0) } != false
    }
    guard let route else { return (404, [.cacheControl: "no-store"], "no page") }
    let shown = route.shows.map { shown -> String in
      switch shown {
      case .cookie(let name): "\(name)=\(cookies.first { Self.isLike($0.name, name) }?.value ?? "nothing")"
      case .field(let name):
        "\(name)=\(HTTPField.Name(name).flatMap { request.headerFields[$0] } ?? "nothing")"
      }
    }
    var fields = HTTPFields()
    for field in route.fields {
      if let name = HTTPField.Name(field.name) { fields.append(HTTPField(name: name, value: field.value)) }
    }
    if fields[.contentType] == nil { fields[.contentType] = "text/html; charset=UTF-8" }
    return (route.status, fields, ([request.path ?? "/"] + shown).joined(separator: " "))
  }

  private static func isLike(_ text: String, _ pattern: String) -> Bool {
    pattern.last == "*" ? text.hasPrefix(pattern.dropLast()) : text == pattern
  }

  private static func cookies(of request: HTTPRequest) -> [(name: String, value: String)] {
    request.headerFields[values: .cookie].flatMap { $0.components(separatedBy: "; ") }.map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
      return (parts.first ?? "", parts.dropFirst().first ?? "")
    }
  }
}

extension HTTPRequest {
  /// A request of a visitor.
  init(_ method: Method = .get, path: String, _ fields: [RecipeApplication.Field]) {
    self = .get(path)
    self.method = method
    for field in fields {
      if let name = HTTPField.Name(field.name) {
        headerFields.append(HTTPField(name: name, value: field.value))
      }
    }
  }
}
