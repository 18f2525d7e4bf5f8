// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import Testing

@testable import HTTPCaching

@Suite("The removals of the log that a node remembers")
struct RemovalIndexTests {
  private static func uri(_ number: Int) -> TargetURI {
    TargetURI(scheme: "https", authority: "a.example", path: "/\(number)")
  }

  private static func key(_ number: Int) -> CacheKey { CacheKey(uri(number), partition: "p") }

  private static func scope(_ name: String) -> [UInt8] { key(0).scope(group: name) }

  /// Removals, each of something else.
  enum Kind: CaseIterable {
    case target, group, groupOfAnyOrigin, pattern, targetAnywhere, groupAnywhere, patternAnywhere

    func selection(_ number: Int) -> HTTPCache.Selection {
      switch self {
      case .target: .target(uri(number), partition: "p")
      case .group: .group("\(number)", of: uri(0), partition: "p")
      case .groupOfAnyOrigin: .group("\(number)")
      case .pattern: .patterns([.prefix("https://a.example/\(number)")], partition: "p")
      case .targetAnywhere: .init(.target(uri(number), keepingPins: false), in: .everyPartition)
      case .groupAnywhere:
        .init(
          .scopes([CacheKey(uri(0), partition: "").scope(group: "\(number)")]), in: .everyPartition)
      case .patternAnywhere: .init(.patterns([.prefix("https://a.example/\(number)")]), in: .everyPartition)
      }
    }

    var limit: Int {
      self == .pattern || self == .patternAnywhere ? RemovalIndex.ruleLimit : RemovalIndex.tagLimit
    }

    /// Whether a response with this number, and in the group with it, is removed.
    func covers(_ number: Int, _ index: RemovalIndex, since position: UInt64) -> Bool {
      index.covers(key(number).bytes, scopes: key(number).scopes + [scope("\(number)")], since: position)
    }
  }

  @Test("A removal concerns what it names, if that was requested before it", arguments: Kind.allCases)
  func named(kind: Kind) {
    var index = RemovalIndex(first: 1)
    index.add(kind.selection(7), 10)
    #expect(kind.covers(7, index, since: 9))
    #expect(!kind.covers(7, index, since: 10))
    #expect(!kind.covers(8, index, since: 9))
    // Records of other nodes may be read after this node's own, later ones.
    index.add(kind.selection(7), 4)
    index.add(kind.selection(8), 5)
    #expect(kind.covers(7, index, since: 9) && kind.covers(8, index, since: 4))
    #expect(!kind.covers(8, index, since: 5))
  }

  @Test("Up to the limit, no removal concerns what it does not name", arguments: Kind.allCases)
  func limit(kind: Kind) {
    var index = RemovalIndex(first: 1)
    // Those that are removed again and again count once.
    for number in 1...kind.limit { index.add(kind.selection(number), UInt64(2 * number)) }
    for number in 1...10 { index.add(kind.selection(number), UInt64(2 * kind.limit + number)) }
    #expect(index.floor == 0)
    #expect(!kind.covers(0, index, since: 0))
    #expect(kind.covers(5, index, since: UInt64(2 * kind.limit)))
    index.add(kind.selection(kind.limit + 1), UInt64(3 * kind.limit))
    #expect(index.floor > 0 && kind.covers(0, index, since: 0))
    #expect(!kind.covers(0, index, since: index.floor))
  }
}
