// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// The checks of one response, in the order of the format.
struct AnswerCheck {
  let scenario: Scenario
  let step: Step
  let number: Int
  let head: HTTPResponse
  let interim: [HTTPResponse]
  let body: String
  /// Whether time is real, so that a second may be missing.
  var isLive = false

  /// Returns the first problem, or `nil`.
  func problem(previousStart: Timestamp) -> ScenarioRunner.Result? {
    let numbers = head.headerFields[named: "Request-Numbers"]?.split(separator: " ") ?? []
    if step["expected_origin_requests"] == nil, Set(numbers).count != numbers.count {
      return .setup("step \(number): a request was sent twice")
    }
    return typeProblem() ?? statusProblem() ?? fieldProblem(now: previousStart)
      ?? interimProblem() ?? bodyProblem()
  }

  private func fail(_ check: String, _ text: String) -> ScenarioRunner.Result {
    step.isSetup(check) ? .setup("step \(number): \(text)") : .failed("step \(number): \(text)")
  }

  private func typeProblem() -> ScenarioRunner.Result? {
    let count = head.headerFields[named: "Server-Request-Count"].flatMap { Int($0) }
    switch step.text("expected_type") {
    case "cached":
      if head.status.code == 304, count == nil { return nil }
      guard let count, count < number else {
        return fail("expected_type", "expected a cached response, the request reached the origin")
      }
    case "not_cached":
      guard count == number else {
        return fail("expected_type", "expected a response from the origin, the request did not reach it")
      }
    default: break
    }
    return nil
  }

  private func statusProblem() -> ScenarioRunner.Result? {
    var expected = 200
    var check = "response_status"
    if let given = step["expected_status"] {
      check = "expected_status"
      guard let code = given.integer else { return nil }
      expected = Int(code)
    } else if let code = step.list("response_status").first?.integer {
      expected = Int(code)
    }
    if head.status.code == expected { return nil }
    let text = "expected status \(expected), got \(head.status.code)"
    return step["expected_status"] == nil ? .setup("step \(number): \(text)") : fail(check, text)
  }

  private func fieldProblem(now: Timestamp) -> ScenarioRunner.Result? {
    for expected in step.list("expected_response_headers") {
      if let name = expected.text {
        if head.headerFields[named: name] == nil {
          return fail("expected_response_headers", "\(name) is missing")
        }
        continue
      }
      guard let parts = expected.list, let name = parts.first?.text else { continue }
      let value = head.headerFields[named: name]
      if parts.count == 3, let other = parts[2].text, parts[1].text == "=" {
        if value != head.headerFields[named: other] {
          return fail("expected_response_headers", "\(name) is not \(other)")
        }
      } else if parts.count == 3, parts[1].text == ">", let least = parts[2].integer {
        guard let number = value.flatMap({ Int64($0) }), number > least else {
          return fail("expected_response_headers", "\(name) is \(value ?? "missing"), not above \(least)")
        }
      } else if parts.count >= 2 {
        guard let wanted = expectedValue(name, parts[1]) else { continue }
        if value != wanted, !(isLive && CacheStatusText.isSame(value ?? "", wanted)) {
          return fail("expected_response_headers", "\(name) is \(value ?? "missing"), not \(wanted)")
        }
      }
    }
    for missing in step.list("expected_response_headers_missing") {
      if let name = missing.text, head.headerFields[named: name] != nil {
        return fail("expected_response_headers_missing", "\(name) is present")
      }
    }
    return nil
  }

  /// Expects as many interim responses as specified, in order, each with at least the specified fields.
  private func interimProblem() -> ScenarioRunner.Result? {
    guard let expected = step["expected_interim_responses"]?.list else { return nil }
    let codes = expected.compactMap { $0.list?.first?.integer }
    let came = interim.map { Int64($0.status.code) }
    if codes != came { return fail("expected_interim_responses", "the interim responses are \(came)") }
    for (head, parts) in zip(interim, expected) {
      for field in (parts.list?.dropFirst().first?.list ?? []).compactMap(FieldSpecification.init)
      where head.headerFields[named: field.name] != field.value.text {
        return fail("expected_interim_responses", "the interim \(field.name) differs from what was sent")
      }
    }
    return nil
  }

  /// A number in a date field is relative to the time the origin's response was made.
  private func expectedValue(_ name: String, _ value: JSONValue) -> String? {
    guard let offset = value.integer else { return value.text }
    guard ScenarioOrigin.dateFields.contains(name.lowercased()) else { return String(offset) }
    guard let made = head.headerFields[named: "Server-Now"].flatMap({ Int64($0) }) else { return nil }
    return HTTPDate(Timestamp(milliseconds: made).advanced(bySeconds: offset)).fieldValue
  }

  private func bodyProblem() -> ScenarioRunner.Result? {
    if step["check_body"] == .bool(false) || head.status.code == 204 || head.status.code == 304
      || step.text("request_method") == "HEAD"
    {
      return nil
    }
    if let expected = step.text("expected_response_text") {
      return body == expected ? nil : fail("expected_response_text", "the body is \(body.debugDescription)")
    }
    if step["expected_response_text"] == .null || step["response_body"] == .null { return nil }
    let expected = step.text("response_body") ?? ScenarioOrigin.defaultBody(scenario)
    return body == expected ? nil : .setup("step \(number): the body is \(body.debugDescription)")
  }
}

/// The checks of the requests that reached the origin.
struct RecordCheck {
  let scenario: Scenario
  let records: [ScenarioOrigin.Record]
  let answers: [HTTPResponse]

  func problem() -> ScenarioRunner.Result? {
    for (index, step) in scenario.steps.enumerated() {
      let number = index + 1
      let type = step.text("expected_type")
      if type == "cached" { continue }
      guard let record = records.first(where: { $0.step == number }) else {
        if type?.hasSuffix("validated") == true || !expectations(step).isEmpty {
          return fail(step, number, "expected_type", "the request did not reach the origin")
        }
        continue
      }
      let fields = record.request.headerFields
      if type == "etag_validated", fields[.ifNoneMatch] == nil {
        return fail(step, number, "expected_type", "the request had no If-None-Match")
      }
      if type == "lm_validated", fields[.ifModifiedSince] == nil {
        return fail(step, number, "expected_type", "the request had no If-Modified-Since")
      }
      for expected in step.list("expected_request_headers") {
        let name = expected.text ?? expected.list?.first?.text ?? ""
        let value = fields[named: name]
        if value == nil {
          return fail(step, number, "expected_request_headers", "the request had no \(name)")
        }
        if let wanted = expected.list?.dropFirst().first?.text, value != wanted {
          return fail(step, number, "expected_request_headers", "\(name) was \(value ?? ""), not \(wanted)")
        }
      }
      for missing in step.list("expected_request_headers_missing") {
        let name = missing.text ?? missing.list?.first?.text ?? ""
        if fields[named: name] != nil {
          return fail(step, number, "expected_request_headers_missing", "the request had \(name)")
        }
      }
      if let method = step.text("expected_method"), record.request.method.rawValue != method {
        return fail(step, number, "expected_method", "the method was \(record.request.method)")
      }
      if let expected = step.text("expected_request_body"), record.content != expected {
        return fail(
          step, number, "expected_request_body", "the request had \(record.content.debugDescription)")
      }
      if let problem = passedOn(record, step, number) { return problem }
    }
    return nil
  }

  private func expectations(_ step: Step) -> [JSONValue] {
    step.list("expected_request_headers") + step.list("expected_request_headers_missing")
  }

  /// Expects that every field of the origin reached the client unchanged, unless it is exempt.
  private func passedOn(_ record: ScenarioOrigin.Record, _ step: Step, _ number: Int) -> ScenarioRunner
    .Result?
  {
    for name in Set(record.checked.map { $0.name.lowercased() }) where name != "date" {
      let sent = record.checked.filter { $0.name.lowercased() == name }.map(\.value).joined(separator: ", ")
      let received = answers[number - 1].headerFields[named: name]
      if received != sent {
        return fail(
          step, number, "response_headers", "\(name) arrived as \(received ?? "nothing"), not \(sent)",
          isSetup: true)
      }
    }
    return nil
  }

  private func fail(
    _ step: Step, _ number: Int, _ check: String, _ text: String, isSetup: Bool = false
  ) -> ScenarioRunner.Result {
    isSetup || step.isSetup(check) ? .setup("step \(number): \(text)") : .failed("step \(number): \(text)")
  }
}
