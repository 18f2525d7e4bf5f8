// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheEngine {
  /// Where the content that comes from the network belongs, and what is stored around it (RFC 9111 §3.4).
  public struct ContentAssembly: Hashable, Sendable {
    /// The bytes of the representation that the network is to bring.
    public var received: Range<Int64>
    /// The candidate whose stored content surrounds the received content; `nil` without stored content.
    public var candidate: Int?
    /// The length of the whole representation, where it is known.
    var completeLength: Int64?
    /// What is stored of the candidate.
    var parts: StoredParts?
    var isCombinable: Bool
    /// Whether what came of a transfer that broke off is stored.
    var keepsBeginning = true

    /// What of the candidate's stored content goes before what comes; empty if nothing.
    public var before: Range<Int64> {
      0..<(parts?.count(before: received.lowerBound) ?? 0)
    }

    /// What of the candidate's stored content goes behind.
    ///
    /// - Parameter count: how much came from the network; all, unless the transfer broke off.
    public func after(_ count: Int64) -> Range<Int64> {
      guard let parts else { return 0..<0 }
      return parts.count(before: received.lowerBound + Swift.min(count, Int64(received.count)))..<parts.count
    }

    /// How many bytes all of it are, when everything has come.
    public var count: Int64 {
      Int64(before.count) + Int64(received.count) + Int64(after(Int64(received.count)).count)
    }
  }
}

extension CacheEngine.Outcome {
  /// What is to be stored of a response whose transfer broke off (§3.3): the bytes that came, and what is stored
  /// around them.
  ///
  /// `nil` where nothing is: what is stored stays as it is then.
  ///
  /// - Parameter count: how many bytes of the content came.
  package func incomplete(after count: Int64) -> StoredResponse? {
    guard case .store(let stored, _) = storage, let assembly, assembly.keepsBeginning, count > 0,
      count < assembly.received.count,
      PartialContent.isWorthCopying(Int64(assembly.after(count).count), for: count)
    else { return nil }
    let start = assembly.received.lowerBound
    return stored.with(
      StoredParts.union(assembly.parts?.ranges ?? [], start..<start + count),
      completeLength: assembly.completeLength, isCombinable: assembly.isCombinable)
  }
}
