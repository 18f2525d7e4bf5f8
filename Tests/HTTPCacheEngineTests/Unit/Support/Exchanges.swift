// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

@testable import HTTPCacheEngine

/// The moment at which everything in these tests arrives, unless a test says otherwise.
let arrival = Timestamp(seconds: 784_111_777)
/// The same moment as a field carries it.
let arrivalDate = "Sun, 06 Nov 1994 08:49:37 GMT"

/// The date `seconds` after the arrival, as a field carries it.
func date(_ seconds: Int64) -> String {
  HTTPDate(arrival.advanced(bySeconds: seconds)).fieldValue
}

extension HTTPFields {
  /// Fields written as lines: `Cache-Control: max-age=60`.
  init(_ lines: String...) {
    self.init()
    for line in lines where !line.isEmpty {
      let colon = line.firstIndex(of: ":") ?? line.endIndex
      guard colon < line.endIndex, let name = HTTPField.Name(String(line[..<colon])) else { continue }
      let value = line[line.index(after: colon)...]
      append(HTTPField(name: name, value: String(value.drop { $0 == " " })))
    }
  }

  init(lines: [String]) {
    self.init()
    for line in lines { self += HTTPFields(line) }
  }

  static func += (fields: inout HTTPFields, others: HTTPFields) {
    for field in others { fields.append(field) }
  }
}

/// A request for `http://a.example/r`, unless the test says otherwise.
func request(_ lines: String..., method: HTTPRequest.Method = .get, path: String = "/r") -> HTTPRequest {
  HTTPRequest(
    method: method, scheme: "http", authority: "a.example", path: path, headerFields: HTTPFields(lines: lines)
  )
}

func response(_ status: Int = 200, _ lines: String...) -> HTTPResponse {
  HTTPResponse(status: .init(code: status), headerFields: HTTPFields(lines: lines))
}

extension CacheEngine {
  static let privately = CacheEngine(.init(kind: .private))
  static let shared = CacheEngine(.init(kind: .shared))
  static func of(_ kind: Configuration.Kind) -> CacheEngine { kind == .private ? privately : shared }

  /// What becomes of a response to a request that met nothing stored.
  func firstOutcome(
    _ request: HTTPRequest, _ response: HTTPResponse, requestTime: Timestamp = arrival,
    responseTime: Timestamp = arrival
  ) -> CacheEngine.Outcome {
    exchange(request, [], .response(response), requestTime: requestTime, responseTime: responseTime)
      ?? outcome(of: placeholder(request, response))
  }

  /// The plan's forwarded request answered; `nil` if the plan did not forward.
  func exchange(
    _ request: HTTPRequest, _ candidates: [StoredResponse], _ result: CacheEngine.Exchange.Result,
    policy: RequestCachePolicy = .useProtocolCachePolicy, lifetime: Duration? = nil,
    requestTime: Timestamp = arrival, responseTime: Timestamp = arrival
  ) -> CacheEngine.Outcome? {
    guard
      case .forward(let forwarding) = plan(
        for: request, policy: policy, candidates: candidates, now: requestTime)
    else { return nil }
    return outcome(
      of: CacheEngine.Exchange(
        forwarding: forwarding, candidates: candidates, result: result, lifetime: lifetime,
        requestTime: requestTime, responseTime: responseTime))
  }

  private func placeholder(_ request: HTTPRequest, _ response: HTTPResponse) -> CacheEngine.Exchange {
    CacheEngine.Exchange(
      forwarding: CacheEngine.Forwarding(
        request: request, selected: nil, isValidation: false, original: request,
        policy: .useProtocolCachePolicy,
        reason: .nothingStored),
      candidates: [], result: .response(response), requestTime: arrival, responseTime: arrival)
  }

  /// The response as it is stored, or `nil` if it is not.
  func stored(
    _ response: HTTPResponse, for request: HTTPRequest = request(), requestTime: Timestamp = arrival,
    responseTime: Timestamp = arrival
  ) -> StoredResponse? {
    let outcome = firstOutcome(request, response, requestTime: requestTime, responseTime: responseTime)
    if case .store(let stored, _) = outcome.storage { return stored }
    return nil
  }

  /// The plan for a request `after` seconds from the arrival of what is stored.
  func plan(
    _ request: HTTPRequest = request(), _ candidates: [StoredResponse], after: Int64 = 0,
    policy: RequestCachePolicy = .useProtocolCachePolicy
  ) -> CacheEngine.Plan {
    plan(for: request, policy: policy, candidates: candidates, now: arrival.advanced(bySeconds: after))
  }
}

extension CacheEngine.Plan {
  var service: CacheEngine.Service? { if case .serve(let service) = self { service } else { nil } }
  var forwarding: CacheEngine.Forwarding? {
    if case .forward(let forwarding) = self { forwarding } else { nil }
  }
  var refusal: CacheEngine.Refusal? { if case .fail(let refusal) = self { refusal } else { nil } }
}

extension CacheEngine.Outcome {
  var storedAnswer: StoredAnswer? { if case .stored(let answer) = answer { answer } else { nil } }
  var refusal: CacheEngine.Reason? { if case .refuse(let reason) = storage { reason } else { nil } }
}
