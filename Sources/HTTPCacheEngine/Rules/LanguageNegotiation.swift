// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Selects a stored response by the languages that a request prefers, if its `Accept-Language` matches none exactly.
///
/// This goes beyond RFC 9111 §4.1: a stored response matches "if and only if" the nominated fields do, so such a
/// request goes to the origin. It is an option, off by default. It is for origins that answer with a client's preferred
/// language whenever they have it, whatever else the client accepts.
enum LanguageNegotiation {
  /// Whether the stored response is in the language that the request prefers to all others, and its other nominated
  /// fields match.
  static func prefers(_ stored: StoredResponse, request: HTTPFields) -> Bool {
    guard !stored.selecting.isUnmatchable,
      stored.selecting.fields.contains(where: { $0.name == "accept-language" }),
      let language = language(of: stored), preferred(by: request[values: .acceptLanguage]) == language
    else { return false }
    return stored.selecting.fields.allSatisfy {
      $0.name == "accept-language" || $0.match(request)
    }
  }

  /// The only language of the content, in lowercase; `nil` if there are several, or it is unknown (RFC 9110 §8.5).
  private static func language(of stored: StoredResponse) -> String? {
    let lines = stored.values(of: .contentLanguage)
    guard lines.count == 1, !lines[0].contains(",") else { return nil }
    return lines[0].lowercased()
  }

  /// Returns the language range with the greatest weight; `nil` if several have it, or it is `*`.
  private static func preferred(by lines: [String]) -> String? {
    var best: (range: String, weight: Int)?
    for line in lines {
      for (range, weight) in PreferenceField.ranges(line) {
        if weight > best?.weight ?? 0 {
          best = (range, weight)
        } else if let other = best, other.weight == weight, other.range != range {
          best = ("*", weight)  // Either would do: that is the origin's choice.
        }
      }
    }
    return best.flatMap { $0.range == "*" ? nil : $0.range }
  }
}
