// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Which stored response a request prefers by its languages, where its `Accept-Language` matches none to the letter.
///
/// This goes beyond RFC 9111 §4.1: a stored response matches "if and only if" the nominated fields do, so such a request is
/// the origin's to answer. It is an option, off by default, for origins that answer with the one language that a client
/// prefers to all others whenever they have it, whatever else the client would take.
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

  /// The one language of the content, in lowercase; `nil` where there are several, or it is not said (RFC 9110 §8.5).
  private static func language(of stored: StoredResponse) -> String? {
    let lines = stored.values(of: .contentLanguage)
    guard lines.count == 1, !lines[0].contains(",") else { return nil }
    return lines[0].lowercased()
  }

  /// The language range with the greatest weight; `nil` if several have it, or it is `*`.
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
