// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import RawStructuredFieldValues

extension CacheControl {
  /// The directives of a targeted field (RFC 9213 §2.1): a Dictionary, which is read more strictly than Cache-Control.
  ///
  /// `nil` if the field is empty or does not parse: it counts as absent then. A value of a type that the directive
  /// does not have is not used (§2.1), and what is left of the directive is what forbids more: no time at all, or a
  /// prohibition without field names. Parameters and unknown directives are ignored.
  init?(targeted lines: [String]) {
    self.init()
    do throws(StructuredField.Failure) {
      let members = try StructuredField.dictionary(lines)
      if members.isEmpty { return nil }
      for (name, value) in members { add(name, value) }
    } catch {
      switch error {
      case .invalid: return nil
      // It governs, and nobody knows what it says.
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
    // What forbids counts whatever its value is; what permits, only as it is meant.
    case "no-store": flags.insert(.noStore)
    case "no-transform": flags.insert(.noTransform)
    case "must-revalidate": flags.insert(.mustRevalidate)
    case "proxy-revalidate": flags.insert(.proxyRevalidate)
    case "must-understand" where value == true: flags.insert(.mustUnderstand)
    case "public" where value == true: flags.insert(.isPublic)
    // RFC 8246 §2: arguments have no meaning and are ignored. That it is false has one.
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
