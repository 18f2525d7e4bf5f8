// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheEngine

/// RFC 9111 §5.2.
@Suite(.timeLimit(.minutes(10)))
struct CacheControlTests {
  @Test(
    "Directives without an argument are recognised in any case",
    arguments: [
      ("no-cache", .noCache), ("no-store", .noStore), ("no-transform", .noTransform),
      ("only-if-cached", .onlyIfCached), ("must-revalidate", .mustRevalidate),
      ("must-understand", .mustUnderstand), ("private", .isPrivate), ("proxy-revalidate", .proxyRevalidate),
      ("public", .isPublic), ("immutable", .immutable), ("max-stale", .anyStaleness),
    ] as [(String, CacheControl.Flags)])
  func flags(name: String, flag: CacheControl.Flags) {
    for spelling in [name, name.uppercased(), name.prefix(1).uppercased() + name.dropFirst()] {
      #expect(CacheControl(parsing: spelling).flags == flag)
      #expect(CacheControl(parsing: " ,\t, \(spelling) ,,").flags == flag)
      #expect(CacheControl(parsing: "x=1, \(spelling), y").flags == flag)
    }
  }

  @Test(
    "Directives with a time accept a token or a quoted string",
    arguments: [
      "max-age", "s-maxage", "max-stale", "min-fresh", "stale-while-revalidate", "stale-if-error",
    ])
  func times(name: String) {
    func time(_ value: String) -> DeltaSeconds? {
      let directives = CacheControl(parsing: value)
      return switch name {
      case "max-age": directives.maxAge
      case "s-maxage": directives.sharedMaxAge
      case "max-stale": directives.maxStale
      case "min-fresh": directives.minFresh
      case "stale-while-revalidate": directives.staleWhileRevalidate
      default: directives.staleIfError
      }
    }
    #expect(time("\(name)=5") == 5)
    #expect(time("\(name)=\"5\"") == 5)
    #expect(time("\(name.uppercased())=007") == 7)
    #expect(time("a,\(name)=0\t,b") == 0)
    #expect(time("other-\(name)=5") == nil)
  }

  @Test(
    "A number too large to hold counts as 2^31 (§1.2.2)",
    arguments: [
      "2147483648", "2147483649", "4294967296", "9223372036854775807", "9223372036854775808",
      "18446744073709551616", String(repeating: "9", count: 400),
    ])
  func overflow(digits: String) {
    #expect(CacheControl(parsing: "max-age=\(digits)").maxAge?.seconds == 2_147_483_648)
    #expect(!CacheControl(parsing: "max-age=\(digits)").contains(.invalidTime))
    #expect(CacheControl(parsing: "max-age=2147483647").maxAge?.seconds == 2_147_483_647)
  }

  @Test(
    "An invalid max-age counts as 0 (§4.2.1)",
    arguments: [
      "max-age", "max-age=", "max-age=\"\"", "max-age=-1", "max-age=+1", "max-age=1.5", "max-age=1s",
      "max-age='5'", "max-age=5 6", "max-age=abc", "max-age= 5", "max-age =5", "max-age = 5",
      "max-age=\"5", "max-age=0x5", "max-age=５", "max-age=\" 5\"", "max-age=5=6",
    ])
  func invalidTimes(value: String) {
    let directives = CacheControl(parsing: value)
    #expect(directives.maxAge == 0)
    #expect(directives.contains(.invalidTime))
  }

  @Test(
    "A directive that occurs twice keeps its more restrictive value",
    arguments: [
      ["max-age=5, max-age=60"], ["max-age=60, max-age=5"], ["max-age=60", "max-age=5"],
      ["max-age=5", "no-transform", "max-age=60"],
    ])
  func duplicates(lines: [String]) {
    #expect(CacheControl(parsing: lines).maxAge == 5)
  }

  @Test("Repeated min-fresh and max-stale directives keep the stricter limit")
  func requestDuplicates() {
    #expect(CacheControl(parsing: "min-fresh=5, min-fresh=9").minFresh == 9)
    #expect(CacheControl(parsing: "max-stale=5, max-stale=9").maxStale == 5)
    #expect(CacheControl(parsing: "max-stale=abc").flags.isEmpty)
    #expect(CacheControl(parsing: "max-stale=abc").maxStale == nil)
    #expect(CacheControl(parsing: "stale-while-revalidate=abc").staleWhileRevalidate == 0)
  }

  @Test(
    "Restrictive directives count after an unclosed quote (§4.2.1)",
    arguments: [
      ("ext=\"a, no-store", .noStore),
      ("max-age=60, a=\"b, no-cache , private=x", [.noCache, .misplacedPrivate]),
      ("\"MUST-REVALIDATE", .misplacedRevalidate), ("a=\"\\\", proxy-revalidate", .proxyRevalidate),
      ("no-cache=\"a, no-store", [.noCache, .noStore]), ("a=\"no-store\"", []), ("a=\"b, no-storex", []),
      ("a=\"b, public, immutable, stale-if-error=9", []), ("a=\"b, max-age=9", .misplacedTime),
      ("a=\"\\\"\\\"\\\", no-store", .noStore),
    ] as [(String, CacheControl.Flags)])
  func unclosed(value: String, flags: CacheControl.Flags) {
    let parsed = CacheControl(parsing: value)
    #expect(parsed.flags == flags)
    #expect(parsed.maxAge == (value.hasPrefix("max-age=60") ? 60 : nil))
  }

  @Test(
    "Directives between separators other than commas count only if they restrict (§4.2.1)",
    arguments: [
      ("no-store; no-cache", [.noStore, .noCache]), ("no-store no-cache", [.noStore, .noCache]),
      ("no-store;", .noStore), ("\"no-store\"", .noStore), ("\"no-store, no-cache\"", [.noStore, .noCache]),
      ("\u{0}no-store", .noStore), ("[no-store]", .noStore), ("foo bar=\"no-store\"", .noStore),
      ("private; max-age=600", [.misplacedPrivate, .misplacedTime]), ("public; max-age=600", .misplacedTime),
      ("public max-age=600 immutable", .misplacedTime), ("x;s-maxage=600", .misplacedTime),
      ("max-age:600", .misplacedTime), ("max-age;600", .misplacedTime), ("x; min-fresh=1", .misplacedTime),
      ("No-Transform;PROXY-REVALIDATE", [.noTransform, .proxyRevalidate]),
      ("x;must-revalidate", .misplacedRevalidate),
      ("no-store; must-understand", [.noStore, .misplacedUnderstand]),
      ("must-understand= no-store", [.misplacedUnderstand, .noStore]),
      ("no-store=a b; private", [.noStore, .misplacedPrivate]),
      ("no-store\", \"max-age=600", [.noStore, .misplacedTime]), ("public=\"a\" private", .misplacedPrivate),
      ("no-cache=\"a\"; private", [.noCache, .misplacedPrivate]), ("stale-if-error=9; no-cache", .noCache),
      ("x=\"a\"; no-store", .noStore), ("x=\"a\" \"no-store\"", .noStore), ("no-store=\"a\"b", .noStore),
      ("only-if-cached no-transform", .noTransform), ("public, no-store; x", [.isPublic, .noStore]),
    ] as [(String, CacheControl.Flags)])
  func separators(value: String, flags: CacheControl.Flags) {
    let parsed = CacheControl(parsing: value)
    #expect(parsed.flags == flags)
    #expect(parsed.maxAge == nil && parsed.sharedMaxAge == nil && parsed.noCacheFields.isEmpty)
    #expect((parsed.staleIfError ?? 0) == 0 && parsed.maxStale == nil && parsed.minFresh == nil)
    // Beside valid directives it says the same, and takes nothing from them.
    let beside = CacheControl(parsing: ["max-age=5, s-maxage=6", value])
    #expect(beside.flags == flags)
    #expect(beside.maxAge == 5 && beside.sharedMaxAge == 6)
  }

  @Test("A time followed by other text is invalid, and directives in that text restrict")
  func behindTimes() {
    let parsed = CacheControl(parsing: "max-age=600; private, s-maxage=60 no-store")
    #expect(parsed.flags == [.invalidTime, .misplacedPrivate, .noStore])
    #expect(parsed.maxAge == 0 && parsed.sharedMaxAge == 0)
    #expect(CacheControl(parsing: "max-age=\"600; private\"").flags == .invalidTime)
  }

  @Test("Quoted commas separate nothing, and unknown directives are ignored (§5.2.3)")
  func extensions() {
    let value = #"ext="no-store, max-age=1", other="a\", no-cache", max-age=9, community=UCI"#
    let directives = CacheControl(parsing: value)
    #expect(directives.maxAge == 9)
    #expect(directives.flags.isEmpty)
  }

  @Test(
    "no-cache and private with field names apply to these fields only (§5.2.2.4, §5.2.2.7)",
    arguments: [
      (#"no-cache="Set-Cookie""#, ["set-cookie"]),
      (#"no-cache="Set-Cookie, X-A""#, ["set-cookie", "x-a"]),
      (#"no-cache=" ,X-A,, ""#, ["x-a"]), ("no-cache=X-A", ["x-a"]),
      (#"no-cache="a", no-cache="b""#, ["a", "b"]),
    ] as [(String, [String])])
  func fieldNames(value: String, names: [String]) {
    let noCache = CacheControl(parsing: value)
    #expect(noCache.noCacheFields == names)
    #expect(!noCache.contains(.noCache))
    let isPrivate = CacheControl(parsing: value.replacingNoCache)
    #expect(isPrivate.privateFields == names)
    #expect(!isPrivate.contains(.isPrivate))
  }

  @Test(
    "no-cache and private with an invalid field list apply to the whole response",
    arguments: [
      "no-cache=", "no-cache=\"\"", "no-cache=\"", "no-cache=\" , \"", "no-cache=\"a", "no-cache=\"a b\"",
      "no-cache=\"a\"b", "no-cache =\"a\"", "no-cache =", "no-cache=\"a, b\", no-cache",
      "no-cache=\"a, max-age=5", "no-cache=é",
    ])
  func doubtfulFieldNames(value: String) {
    #expect(CacheControl(parsing: value).contains(.noCache))
    #expect(CacheControl(parsing: value.replacingNoCache).contains(.isPrivate))
  }

  @Test(
    "no-store with an argument still forbids storing",
    arguments: ["no-store=1", "no-store=\"\"", "no-store =", "No-Store=no"])
  func superfluousArguments(value: String) {
    #expect(CacheControl(parsing: value).contains(.noStore))
  }

  @Test(
    "An unknown or malformed directive has no effect",
    arguments: [
      "", " ", ",", ",,,\t,", "=", "=5", "\"", "no_store", "nostore", "no-store2", "no store", "'no-store'",
      "\\", "\"\\",
      "no-cache-please", "é", "🦊=1", "x=no-store", "x=\"no-store; private\"", "x=\"max-age=5, no-cache\"",
      "public;", "immutable public",
      "x; stale-while-revalidate=60", "max-stale=5 5", "\"public\"", "x;stale-if-error=60", "only-if-cached;",
    ])
  func garbage(value: String) {
    #expect(CacheControl(parsing: value) == CacheControl())
  }
}

extension String {
  /// The same value with `private` in place of `no-cache`.
  fileprivate var replacingNoCache: String {
    var (result, rest) = ("", self[...])
    while let first = rest.first {
      if rest.hasPrefix("no-cache") {
        result += "private"
        rest = rest.dropFirst(8)
      } else {
        result.append(first)
        rest = rest.dropFirst()
      }
    }
    return result
  }
}
