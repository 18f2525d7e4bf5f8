// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPTypes

// The checks of `httpcache explain`. The order counts within a severity: checks with more effect come first.
extension AdviceCheck {
  static let all: [AdviceCheck] = syntax + contradictions + sharing + validity + lifetimes

  // MARK: - Spelling

  private static let syntax: [AdviceCheck] = [
    AdviceCheck("separators", .error) { subject in
      subject.directives.filter { !$0.isValid && $0.intended.count > 1 }.map { member in
        Finding(
          "'\(member.text)' is not separated by commas. Caches honour its restrictions and ignore its permissions.",
          fix: subject.correctedCacheControl)
      }
    },
    AdviceCheck("directive-syntax", .error) { subject in
      subject.directives.filter { !$0.isValid && $0.intended.count <= 1 }.map { member in
        Finding(
          "'\(member.text)' has invalid syntax. Caches honour its restrictions and ignore its permissions.",
          fix: subject.correctedCacheControl)
      }
    },
    AdviceCheck("misspelt-directive", .error) { subject in
      subject.directives.filter(\.isValid).compactMap { member in
        guard let name = Directives.meant(by: member.name), !Directives.ofRequests.contains(name) else {
          return nil
        }
        return Finding(
          "Caches ignore '\(member.text)', which is not a directive. The intended one is probably '\(name)'.",
          fix: subject.correctedCacheControl)
      }
    },
    AdviceCheck("request-directive", .warning) { subject in
      subject.directives.compactMap { member in
        let name = Directives.meant(by: member.name) ?? member.name
        guard Directives.ofRequests.contains(name) else { return nil }
        return Finding(
          "'\(name)' is a directive of requests. Caches ignore it in a response (RFC 9111 §5.2.1).",
          fix: "Remove '\(member.text)'.")
      }
    },
    AdviceCheck("invalid-time", .error) { subject in
      subject.directives.filter { $0.isValid && Directives.withTime.contains($0.name) && $0.seconds == nil }
        .map {
          Finding(
            "'\($0.text)' is not a whole number of seconds. It counts as 0.",
            fix: subject.correctedCacheControl)
        }
    },
    AdviceCheck("targeted-syntax", .error) { subject in
      subject.invalidTargets.map { field in
        let members = DirectiveText.members(of: [field.value]).flatMap(\.corrected)
        return Finding(
          "Caches ignore \(field.name.rawName), which is not a valid Dictionary (RFC 9213 §2.1), and use Cache-Control.",
          fix: members.isEmpty
            ? "Remove the field, or write \(field.name.rawName): max-age=3600"
            : "\(field.name.rawName): \(members.joined(separator: ", ").lowercased())")
      }
    },
    AdviceCheck("targeted-values", .error) { subject in
      subject.fields.filter { field in
        field.name.canonicalName.hasSuffix("-cache-control") && !subject.invalidTargets.contains(field)
      }.flatMap { field in
        DirectiveText.members(of: [field.value]).compactMap { member in
          let isParameter = member.text.contains(";")
          let isText = Directives.withTime.contains(member.name) && member.text.contains("\"")
          guard isParameter || isText else { return nil }
          return Finding(
            isParameter
              ? "In \(field.name.rawName), text after a semicolon is a parameter, which caches ignore."
              : "In \(field.name.rawName), '\(member.text)' is a string, not a number. It counts as 0.",
            fix:
              "\(field.name.rawName): \(DirectiveText(member.text.replacing("\"", with: "").replacing(";", with: " ")).corrected.joined(separator: ", "))"
          )
        }
      }
    },
    AdviceCheck("large-time", .warning) { subject in
      subject.directives.filter { $0.seconds ?? 0 > 2_147_483_648 }.map {
        Finding(
          "'\($0.text)' is more than 2^31 seconds (68 years), and counts as 2^31.",
          fix: "Use \($0.name)=31536000, which is one year.")
      }
    },
  ]

  // MARK: - Contradictions

  private static let contradictions: [AdviceCheck] = [
    AdviceCheck("public-and-private", .error) { subject in
      guard subject.has("public"), subject.has("private") else { return [] }
      return [
        Finding(
          "'public' and 'private' contradict each other. Caches honour 'private'.",
          fix: "Remove 'public', or 'private' if all users may share the response.")
      ]
    },
    AdviceCheck("repeated-directive", .error) { subject in
      Directives.withTime.sorted().compactMap { name in
        let times = subject.directives.filter { $0.name == name }.compactMap(\.seconds)
        guard times.count > 1, let shortest = times.min() else { return nil }
        return Finding(
          "'\(name)' occurs \(times.count == 2 ? "twice" : "\(times.count) times"). The shortest time counts.",
          fix: "Write it once: \(name)=\(shortest)")
      }
    },
    AdviceCheck("no-store-and-more", .warning) { subject in
      let others = subject.directives.filter {
        ["max-age", "s-maxage", "public", "immutable", "stale-while-revalidate", "stale-if-error"].contains(
          $0.name)
          && ($0.seconds ?? 1) > 0
      }
      guard subject.has("no-store"), !subject.has("must-understand"), !others.isEmpty else { return [] }
      return [
        Finding(
          "With 'no-store', nothing is stored, and \(list(others.map(\.text))) has no effect.",
          fix: "Remove 'no-store' if caches may store the response, else write Cache-Control: no-store")
      ]
    },
    AdviceCheck("no-cache-and-more", .warning) { subject in
      let others = subject.directives.filter {
        ["max-age", "s-maxage", "immutable", "stale-while-revalidate"].contains($0.name)
          && ($0.seconds ?? 1) > 0
      }
      guard subject.directives.contains(where: { $0.name == "no-cache" && $0.argument == nil }),
        !subject.has("no-store"),
        !others.isEmpty
      else { return [] }
      return [
        Finding(
          "With 'no-cache', every use is revalidated, and \(list(others.map(\.text))) has no effect.",
          fix: "Remove 'no-cache' if caches may use the response while it is fresh.")
      ]
    },
    AdviceCheck("private-and-s-maxage", .warning) { subject in
      guard subject.has("private"), subject.seconds("s-maxage") != nil else { return [] }
      return [
        Finding(
          "'s-maxage' is for shared caches, and 'private' keeps the response out of them.",
          fix: "Remove 's-maxage', or 'private' if all users may share the response.")
      ]
    },
    AdviceCheck("must-revalidate-and-stale", .warning) { subject in
      let others = subject.directives.filter {
        ["stale-while-revalidate", "stale-if-error"].contains($0.name) && ($0.seconds ?? 0) > 0
      }
      guard subject.has("must-revalidate"), !others.isEmpty else { return [] }
      return [
        Finding(
          "'must-revalidate' forbids stale responses and overrides \(list(others.map(\.text))).",
          fix: "Remove one or the other.")
      ]
    },
  ]

  // MARK: - Shared caches

  private static let sharing: [AdviceCheck] = [
    AdviceCheck("vary-star", .error) { subject in
      guard subject.vary.contains("*") else { return [] }
      return [
        Finding(
          "'Vary: *' matches no request: every use of the response needs a request to the origin.",
          fix: "Name the request fields that the response depends on, such as Vary: Accept-Encoding")
      ]
    },
    AdviceCheck("set-cookie-shared", .warning) { subject in
      guard subject.sharesCookie else { return [] }
      return [
        Finding(
          "A shared cache sends the cookie of this response to all its users.",
          fix:
            "Write Cache-Control: private if the cookie belongs to one user, or remove Set-Cookie. httpcache proxy can strip it: --set-cookie strip"
        )
      ]
    },
    AdviceCheck("set-cookie-not-shared", .warning) { subject in
      guard subject.isUnsharedForItsCookie else { return [] }
      return [
        Finding(
          "Shared caches do not store the response, because it has Set-Cookie and no lifetime.",
          fix:
            "Send Set-Cookie only if a cookie changes, or write Cache-Control: private if that is intended.")
      ]
    },
    AdviceCheck("vary-cookie", .warning) { subject in
      guard subject.vary.contains("cookie"), subject.isStored else { return [] }
      return [
        Finding(
          "'Vary: Cookie' makes a variant for each user: a shared cache rarely has one that matches.",
          fix:
            "Write Cache-Control: private if the response depends on the user; otherwise remove Cookie from Vary."
        )
      ]
    },
    AdviceCheck("vary-user-agent", .warning) { subject in
      guard subject.vary.contains("user-agent"), subject.isStored else { return [] }
      return [
        Finding(
          "'Vary: User-Agent' makes thousands of variants: caches store many copies and rarely have one that matches.",
          fix: "Remove User-Agent from Vary. Serve the same content to all clients, or use different URLs.")
      ]
    },
  ]

  // MARK: - Validators and dates

  private static let validity: [AdviceCheck] = [
    AdviceCheck("invalid-etag", .error) { subject in
      guard let text = subject.fields[values: .eTag].first else { return [] }
      let opaque = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
      let tag = text.replacing("\"", with: "")
      let isQuoted = opaque.count >= 2 && opaque.hasPrefix("\"") && opaque.hasSuffix("\"")
      guard !isQuoted || opaque.dropFirst().dropLast().contains("\"") else { return [] }
      return [
        Finding(
          "'\(text)' is not a valid entity tag, which must be in double quotes. Many caches ignore it.",
          fix: "ETag: \"\(tag.isEmpty || tag == "*" ? "1" : tag)\"")
      ]
    },
    AdviceCheck("invalid-expires", .warning) { subject in
      guard case .invalid(let text) = subject.expires else { return [] }
      if subject.seconds("max-age") != nil {
        return [
          Finding(
            "Expires is not a valid date. Caches ignore it because of max-age.", fix: "Remove Expires.")
        ]
      }
      return [
        Finding(
          "'Expires: \(text)' is not a valid date, and counts as expired.",
          fix: "Write Cache-Control: no-cache if that is intended, else Cache-Control: max-age=3600")
      ]
    },
    AdviceCheck("invalid-last-modified", .warning) { subject in
      guard case .invalid(let text) = subject.lastModified else { return [] }
      return [
        Finding(
          "'Last-Modified: \(text)' is not an HTTP date. It gives no heuristic lifetime.",
          fix: "Use this format: Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT")
      ]
    },
    AdviceCheck("no-validator", .warning) { subject in
      guard subject.isStored, !subject.hasEntityTag, case .absent = subject.lastModified,
        subject.fields[.eTag] == nil
      else { return [] }
      return [
        Finding(
          "The response has neither ETag nor Last-Modified: once stale, it is refetched even if it has not changed.",
          fix: "Add one, such as ETag: \"v1\"")
      ]
    },
    AdviceCheck("pragma", .warning) { subject in
      guard let name = HTTPField.Name("Pragma"), subject.fields[name] != nil else { return [] }
      let isSaid = subject.has("no-cache") || subject.has("no-store")
      return [
        Finding(
          "Pragma has no meaning in a response (RFC 9111 §5.4).",
          fix: isSaid
            ? "Remove it: Cache-Control is enough." : "Write Cache-Control: no-cache if that is intended.")
      ]
    },
  ]

  // MARK: - Lifetimes

  private static let lifetimes: [AdviceCheck] = [
    AdviceCheck("heuristic-lifetime", .warning) { subject in
      let guesses = subject.effects.values.compactMap { effect -> Int64? in
        if case .fresh(let seconds, isGuess: true) = effect { seconds } else { nil }
      }
      guard let seconds = guesses.max() else { return [] }
      return [
        Finding(
          "There is no explicit lifetime. Caches use a heuristic from Last-Modified, this one \(Phrases.duration(seconds)).",
          fix:
            "Set a lifetime: Cache-Control: max-age=\(max(1, seconds)), or no-cache to revalidate at every use."
        )
      ]
    },
    AdviceCheck("no-lifetime", .warning) { subject in
      guard subject.isStored, !subject.saysLifetime, !subject.has("no-cache"), !subject.vary.contains("*"),
        !subject.effects.values.contains(where: { if case .fresh = $0 { true } else { false } })
      else { return [] }
      return [
        Finding(
          "The response has no lifetime, so every use needs a request to the origin.",
          fix: "Set a lifetime: Cache-Control: max-age=3600, or no-cache if that is intended.")
      ]
    },
    AdviceCheck("status-without-lifetime", .warning) { subject in
      guard subject.isRefusedForItsStatus else { return [] }
      return [
        Finding(
          "Caches store a response with status \(subject.status) only if it has an explicit lifetime.",
          fix: "Add Cache-Control: max-age=3600 if it may be stored.")
      ]
    },
    AdviceCheck("stale-on-arrival", .warning) { subject in
      guard let age = subject.fields[.age].flatMap({ Int64($0) }), let lifetime = subject.seconds("max-age"),
        lifetime > 0, age >= lifetime, subject.isStored, subject.seconds("s-maxage") == nil
      else { return [] }
      return [
        Finding(
          "The response was stale on arrival: its Age of \(age) s is not less than its max-age of \(lifetime) s.",
          fix:
            "A cache before this one serves it for longer than it is fresh: check the configuration of that cache."
        )
      ]
    },
    AdviceCheck("expires-beside-max-age", .hint) { subject in
      guard subject.seconds("max-age") != nil, case .valid = subject.expires else { return [] }
      return [Finding("Caches ignore Expires because of max-age.", fix: "Remove Expires.")]
    },
  ]

  private static func list(_ texts: [String]) -> String {
    texts.map { "'\($0)'" }.joined(separator: ", ")
  }
}

extension AdviceSubject {
  /// Whether any directive or field sets a lifetime, valid or not.
  fileprivate var saysLifetime: Bool {
    let names: Set = ["max-age", "s-maxage"]
    return expires != .absent
      || directives.contains { !$0.isValid || names.contains(Directives.meant(by: $0.name) ?? $0.name) }
  }
}
