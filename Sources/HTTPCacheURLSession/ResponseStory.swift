import Foundation
import HTTPCacheEngine
import HTTPCaching
import RawStructuredFieldValues

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Where a response came from, as its `Cache-Status` field tells it (RFC 9211).
public struct ResponseStory: Hashable, Sendable {
  public var source: CachedResponse.Source
  /// Why; ``Reason/sentence`` is for people.
  public var reason: Reason
  /// Why the request went to the origin, if it did (RFC 9211 §2.2).
  public var forward: CacheStatus.Forward?
  /// The current age in whole seconds, if the response came from the store.
  public var age: Int64?
  /// How much longer the response is fresh, in whole seconds; 0 or less if it is stale.
  public var remainingLifetime: Int64?
  /// The status code that the origin gave, if it was asked.
  public var originStatus: Int?
  /// Whether the response is stored.
  public var isStored: Bool
  /// Whether another's request to the origin served this one too.
  public var isCollapsed: Bool
}

extension HTTPURLResponse {
  /// What the cache did for this response; `nil` if it came through none.
  ///
  /// ```swift
  /// let (data, response) = try await session.data(for: request)
  /// print((response as? HTTPURLResponse)?.cacheStory?.source)    // hit
  /// ```
  public var cacheStory: ResponseStory? {
    guard let field = value(forHTTPHeaderField: "Cache-Status") else { return nil }
    var parser = StructuredFieldValueParser(Array(field.utf8.lastMember))
    guard let member = try? parser.parseItemFieldValue() else { return nil }
    return ResponseStory(member, age: value(forHTTPHeaderField: "Age").flatMap { Int64($0) })
  }
}

extension String.UTF8View {
  /// The last member of a list: that of the cache nearest to us (RFC 9211 §2).
  ///
  /// Found from the end: ours is as it must be, and what caches before it wrote may be anything.
  fileprivate var lastMember: SubSequence {
    var start = endIndex
    var isQuoted = false
    while start > startIndex {
      let before = index(before: start)
      if self[before] == UInt8(ascii: "\"") {
        // A quote behind an odd number of backslashes is part of the text.
        let escapes = self[..<before].reversed().prefix { $0 == UInt8(ascii: "\\") }.count
        if escapes.isMultiple(of: 2) { isQuoted.toggle() }
      } else if self[before] == UInt8(ascii: ","), !isQuoted {
        break
      }
      start = before
    }
    return self[start...]
  }
}

extension ResponseStory: CustomStringConvertible {
  /// In one line: `stale, 75 s old, fresh for -15 s: The stored response … (RFC 5861 §3)`.
  public var description: String {
    var text = source.rawValue
    if let age { text += ", \(age) s old" }
    if let remainingLifetime { text += ", fresh for \(remainingLifetime) s" }
    return text + ": \(reason)"
  }
}

extension ResponseStory {
  /// `nil` for another cache's member: it gives no reason of ours.
  init?(_ member: Item, age: Int64?) {
    func has(_ name: String) -> Bool { member.rfc9651Parameters[name] == .bool(true) }
    func integer(_ name: String) -> Int64? {
      if case .integer(let value) = member.rfc9651Parameters[name] { Int64(value) } else { nil }
    }
    guard case .token(let detail) = member.rfc9651Parameters["detail"], let reason = Reason(rawValue: detail)
    else {
      return nil
    }
    self.reason = reason
    if case .token(let forward) = member.rfc9651Parameters["fwd"] {
      self.forward = CacheStatus.Forward(rawValue: forward)
    }
    remainingLifetime = integer("ttl")
    originStatus = integer("fwd-status").map { Int($0) }
    isStored = has("stored")
    isCollapsed = has("collapsed")
    switch reason {
    case .validated: source = .validated
    case .fresh, .freshByHeuristic, .immutable: source = .hit
    case .staleAllowedByRequest, .staleWhileRevalidate, .staleIfError, .staleWhileDisconnected,
      .forbiddenWhileDisconnected, .policyReturnsStored:
      source = .stale
    case .onlyIfCached: source = .generated
    default: source = has("hit") ? .hit : .network
    }
    self.age = source == .network ? nil : age
  }
}
