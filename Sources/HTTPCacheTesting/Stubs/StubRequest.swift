// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching

/// A request to a stub.
public struct StubRequest: Sendable, CustomStringConvertible {
  /// The request as the transport received it.
  public var request: HTTPRequest
  /// The content of the request.
  public var body: [UInt8]
  /// The values of the pattern's named parts, percent-decoded.
  public var parameters: [String: String] = [:]
  /// The position among all requests, from 1.
  public var number = 0

  init(request: HTTPRequest, body: [UInt8]) {
    self.request = request
    self.body = body
  }

  /// The method of the request.
  public var method: HTTPRequest.Method { request.method }
  /// The fields of the request.
  public var fields: HTTPFields { request.headerFields }
  /// The URL of the request.
  public var url: String { TargetURI(request)?.text ?? request.path ?? "" }
  /// The body as text.
  public var text: String { String(decoding: body, as: UTF8.self) }
  /// The parameters of the query, percent-decoded; if a name occurs several times, the last value.
  public var query: [String: String] {
    let items = URLComponents(string: url)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }) { _, last in last }
  }

  public var description: String { "\(method.rawValue) \(url)" }

  func match(_ method: HTTPRequest.Method?, _ pattern: URLPattern) -> [String: String]? {
    guard method == nil || method == self.method, let target = TargetURI(request) else { return nil }
    return pattern.match(target)
  }

  func matches(_ method: HTTPRequest.Method?, _ pattern: URLPattern) -> Bool {
    match(method, pattern) != nil
  }
}
