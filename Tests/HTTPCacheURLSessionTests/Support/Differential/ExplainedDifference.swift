// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A difference from a plain session that is right, and why.
struct ExplainedDifference: Sendable {
  let reason: String
  private let isOne: @Sendable (_ line: String, _ one: WireCase, _ round: Differential.Round) -> Bool

  /// - Parameters:
  ///   - lines: how the lines of the difference begin.
  ///   - rounds: when it may appear.
  ///   - names: texts of which the name of the case contains one; empty for all cases.
  private init(
    _ reason: String, _ lines: [String], in rounds: [Differential.Round] = Differential.Round.allCases,
    of names: [String] = []
  ) {
    self.reason = reason
    isOne = { line, one, round in
      rounds.contains(round) && lines.contains { line.hasPrefix($0) }
        && (names.isEmpty || names.contains { one.description.contains($0) })
    }
  }

  /// Returns the reason for a difference; `nil` if it is a fault.
  static func reason(for line: String, of one: WireCase, in round: Differential.Round) -> String? {
    all.first { $0.isOne(line, one, round) }?.reason
  }

  static let all: [ExplainedDifference] = [
    .init(
      "The cache says what it did (RFC 9211 §2).", ["field + cache-status: ", "field - cache-status: x"]),
    .init("A response without Date gets one (RFC 9110 §6.6.1).", ["field + date: "]),
    .init(
      "A stored response has its own age (RFC 9111 §4.2.3).", ["field + age: ", "field - age: "],
      in: [.hit, .validated]),
    .init(
      "Fields of the connection are not stored (RFC 9111 §3.1).",
      ["connection", "transfer-encoding", "keep-alive", "upgrade", "proxy-connection", "trailer"].map {
        "field - \($0):"
      },
      in: [.hit, .validated]),
    .init(
      "The 304 has a later Date (RFC 9111 §3.2).", ["field - date: Sun, 06 Nov 1994"], in: [.hit, .validated]),
    .init(
      "A cache lists names that differ in case as one (RFC 9110 §5.1).", ["field + x-a: ", "field - x-a: "],
      of: ["X-A: 1"]),
    .init(
      "A range is served from the stored response (RFC 9111 §3.4).",
      [
        "status 206, not 200", "field + content-range", "field + content-length", "field - content-length",
        "content of 2",
      ],
      in: [.hit, .validated], of: ["Range: bytes"]),
    .init(
      "A range of an encoded response cannot be decoded by itself.",
      ["request + accept-encoding: identity", "request - accept-encoding"],
      of: ["Range: bytes"]),
    .init(
      "The client's own condition is answered from the store (RFC 9111 §4.3.2).",
      ["status 304, not 200", "field - ", "field + ", "content of 0"], in: [.hit, .validated],
      of: ["If-None-Match"]),
    .init(
      "Foundation on Linux drops the content of a redirect, and its length would be wrong.",
      ["field - content-length: 7"], of: ["status 30", " to '"]),
    .init(
      "Foundation on Linux resolves a relative reference against the root (RFC 3986 §5.2).",
      [
        "error ", "status ", "url ", "field ", "content ", "2 requests", "21 requests", "1 requests",
        "request ",
      ],
      of: ["to 'to'", "to '#part'", "to '?q'", "to 'mailto:", "to 'http://'", "to '//'", "to '::'"]),
    .init(
      "305 and 306 do not redirect (RFC 9110 §15.4.6).",
      ["error ", "status ", "url ", "field ", "content ", "1 requests", "request "],
      of: [" 305 to", " 306 to"]),
    .init(
      "HEAD stays HEAD at a 303 (RFC 9110 §15.4.4).",
      [
        "field + content-length", "field - content-length", "content of 0", "request + HEAD", "request - GET",
      ],
      of: ["HEAD 303"]),
    .init(
      "Foundation on Linux drops the content at a redirect that keeps the method.",
      ["request + content-length: 4", "request - content-length: 0"],
      of: ["307", "308", "PUT 301", "PUT 302"]),
    .init(
      "Foundation on Linux sends credentials to another origin (RFC 9110 §15.4).",
      ["request - authorization"],
      of: ["//localhost"]),
    .init(
      "The length of content is known.",
      ["request + content-length: 4", "request - transfer-encoding: chunked"],
      of: ["Transfer-Encoding: chunked"]),
    .init(
      "A field with an invalid name is not sent (RFC 9110 §5.1).", ["request - bad name"], of: ["Bad Name"]),
    .init(
      "A value has no whitespace around it (RFC 9110 §5.5).",
      ["request + x-padded: a", "request - x-padded:  a "],
      of: ["X-Padded"]),
    .init(
      "An origin that closes without an answer counts as unreachable, as on Apple platforms.",
      ["error -1005, not -1011"],
      of: ["nothing, FIN", "only 103, FIN"]),
  ]
}
