// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

/// Selects a stored response by the languages that a request prefers, if its `Accept-Language` matches none exactly.
///
/// This goes beyond RFC 9111 §4.1: a stored response matches "if and only if" the nominated fields do, so such a
/// request goes to the origin. It is an option, off by default. It is for origins that answer with a client's preferred
/// language whenever they have it, whatever else the client accepts.
enum LanguageNegotiation {
  /// Whether the stored response is in a language, and its other nominated fields match.
  static func `is`(
    _ stored: StoredResponse, in language: String, _ request: HTTPFields, _ selection: inout RequestSelection,
    _ configuration: CacheEngine.Configuration
  ) -> Bool {
    guard !stored.selecting.isUnmatchable,
      stored.selecting.fields.contains(where: { $0.name == "accept-language" }),
      self.language(of: stored) == language
    else { return false }
    for field in stored.selecting.fields
    where field.name != "accept-language" && !selection.meets(field, in: request, configuration) {
      return false
    }
    return true
  }

  /// The only language of the content, in lowercase; `nil` if there are several, or it is unknown (RFC 9110 §8.5).
  private static func language(of stored: StoredResponse) -> String? {
    let lines = stored.values(of: .contentLanguage)
    guard lines.count == 1, !lines[0].contains(",") else { return nil }
    return lines[0].lowercasedASCII
  }

  /// Returns the language range with the greatest weight; `nil` if several have it, or it is `*`.
  static func preferred(by request: HTTPFields) -> String? {
    var best: (range: String, weight: Int)?
    for field in request where field.name == .acceptLanguage {
      for (range, weight) in PreferenceField.ranges(Octets(valueOf: field)) {
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
