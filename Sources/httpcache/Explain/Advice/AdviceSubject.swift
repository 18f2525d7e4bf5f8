// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// A response for the checks: its fields, and the engine's findings.
struct AdviceSubject {
  /// A date field.
  enum DateText: Hashable {
    case absent
    case invalid(String)
    case valid(Timestamp)
  }

  var status: Int
  /// The fields of the response.
  var fields: HTTPFields
  /// The behaviour of each kind of cache.
  var effects: [CacheEngine.Configuration.Kind: CacheEffect]
  /// Whether a shared cache stores the response with cookies.
  var sharesCookie: Bool
  var directives: [DirectiveText]
  var expires: DateText
  var lastModified: DateText
  var arrival: Timestamp
  /// Whether there is an entity tag with valid syntax.
  var hasEntityTag: Bool
  /// The targeted fields (RFC 9213) that no cache can read.
  var invalidTargets: [HTTPField]

  init(
    _ response: HTTPResponse, effects: [CacheEngine.Configuration.Kind: CacheEffect], sharesCookie: Bool,
    arrival: Timestamp
  ) {
    status = response.status.code
    fields = response.headerFields
    self.effects = effects
    self.sharesCookie = sharesCookie
    self.arrival = arrival
    directives = DirectiveText.members(of: fields[values: .cacheControl])
    func date(_ name: HTTPField.Name) -> DateText {
      guard let text = response.headerFields[name] else { return .absent }
      return HTTPDate(parsing: text, now: arrival).map { .valid($0.timestamp) } ?? .invalid(text)
    }
    expires = date(.expires)
    lastModified = date(.lastModified)
    hasEntityTag = ResponseFields(fields, now: arrival, targets: []).entityTag != nil
    invalidTargets = response.headerFields.filter { field in
      let name = field.name.canonicalName
      return name.hasSuffix("-cache-control")
        && ResponseFields(response.headerFields, now: arrival, targets: [name]).target == nil
    }
  }

  /// Whether a directive is present with valid syntax.
  func has(_ name: String) -> Bool { directives.contains { $0.name == name && $0.isValid } }

  /// Returns the shortest time of a directive.
  func seconds(_ name: String) -> Int64? { directives.filter { $0.name == name }.compactMap(\.seconds).min() }

  var isStored: Bool { effects.values.contains { !$0.isRefusal } }
  var isUnsharedForItsCookie: Bool { effects[.shared] == .refused(.cookiesNotShared) }
  var isRefusedForItsStatus: Bool { effects.values.contains(.refused(.notDeclaredCacheable)) }

  /// The corrected field, for fixes.
  var correctedCacheControl: String {
    var seen: Set<String> = []
    let corrected = directives.flatMap(\.corrected).filter { seen.insert(DirectiveText($0).name).inserted }
    return "Cache-Control: " + (corrected.isEmpty ? "max-age=3600" : corrected.joined(separator: ", "))
  }

  /// The members of `Vary`, in lowercase.
  var vary: [String] {
    fields[values: .vary].flatMap { $0.split(separator: ",") }.map { String($0).trimmedOfBlanks.lowercased() }
  }
}
