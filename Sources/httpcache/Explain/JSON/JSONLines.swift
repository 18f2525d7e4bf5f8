// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// `httpcache explain --json`: JSON Lines in, JSON Lines out.
struct JSONLines {
  /// Maximum bytes of a line: no server would send a head of that size.
  static let lineLimit = 4 << 20

  private var number = 0
  /// Whether a line could not be read.
  private(set) var hasFailed = false
  private let encoder: JSONEncoder

  init() {
    encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  }

  /// Returns the line of output for the next line of input, with its line end; `nil` for a blank line.
  mutating func answer(_ line: InputLines.Line, systemTime: Timestamp) throws -> [UInt8]? {
    number += 1
    let json: Data
    do {
      guard case .text(let bytes) = line else {
        throw ExplainQueryError("the line is longer than \(Self.lineLimit) bytes")
      }
      let isBlank = bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      guard !isBlank else { return nil }
      let query = try ExplainQuery(parsing: bytes)
      json = try encoder.encode(QueryExplainer(systemTime: systemTime).answer(query))
    } catch let error as ExplainQueryError {
      hasFailed = true
      json = try encoder.encode(ExplainComplaint(error: error.text, line: number))
    }
    return Array(json) + [UInt8(ascii: "\n")]
  }
}
