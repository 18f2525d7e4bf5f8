// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import RawStructuredFieldValues

extension CacheControl {
  /// Parses the directives of a targeted field (RFC 9213 §2.1): a Dictionary, which is read more strictly than
  /// Cache-Control.
  ///
  /// Returns `nil` if the field is empty or invalid: it then counts as absent. A value of a wrong type is ignored
  /// (§2.1). The directive then has its more restrictive meaning: no time at all, or a prohibition without field names.
  /// Parameters and unknown directives are ignored.
  init?(targeted lines: [String]) {
    self.init()
    do throws(StructuredField.Failure) {
      let members = try StructuredField.dictionary(lines)
      if members.isEmpty { return nil }
      for (name, value) in members { add(name, value) }
    } catch {
      switch error {
      case .invalid: return nil
      // It governs, but its content is unknown.
      case .tooLong: flags.insert(.noStore)
      }
    }
  }

  private mutating func add(_ name: String, _ value: RFC9651BareItem?) {
    switch name {
    case "max-age": addTime(value, to: \.maxAge)
    case "s-maxage": addTime(value, to: \.sharedMaxAge)
    case "stale-while-revalidate": staleWhileRevalidate = Self.time(value) ?? 0
    case "stale-if-error": staleIfError = Self.time(value) ?? 0
    case "no-cache": addFields(value, unqualified: .noCache, to: \.noCache)
    case "private": addFields(value, unqualified: .isPrivate, to: \.isPrivate)
    // A restriction counts with any value; a permission only with a valid one.
    case "no-store": flags.insert(.noStore)
    case "no-transform": flags.insert(.noTransform)
    case "must-revalidate": flags.insert(.mustRevalidate)
    case "proxy-revalidate": flags.insert(.proxyRevalidate)
    case "must-understand" where value == true: flags.insert(.mustUnderstand)
    case "public" where value == true: flags.insert(.isPublic)
    // RFC 8246 §2: arguments have no meaning and are ignored. A false value has a meaning.
    case "immutable" where value != false: flags.insert(.immutable)
    default: break
    }
  }

  private static func time(_ value: RFC9651BareItem?) -> DeltaSeconds? {
    guard case .integer(let seconds) = value, seconds >= 0 else { return nil }
    return DeltaSeconds(seconds)
  }

  private mutating func addTime(
    _ value: RFC9651BareItem?, to directive: WritableKeyPath<Self, DeltaSeconds?>
  ) {
    let time = Self.time(value)
    if time == nil { flags.insert(.invalidTime) }
    self[keyPath: directive] = time ?? 0
  }

  private mutating func addFields(
    _ value: RFC9651BareItem?, unqualified: Flags, to directive: WritableKeyPath<Named, [String]>
  ) {
    guard case .string(let names) = value else {
      flags.insert(unqualified)
      return
    }
    _ = names.withFieldBytes { addFields($0, argument: $0.whole, unqualified: unqualified, to: directive) }
  }
}
