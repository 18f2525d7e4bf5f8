// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

extension CacheEngine {
  /// The position of the network's content in a representation, and the stored content around it (RFC 9111 §3.4).
  public struct ContentAssembly: Hashable, Sendable {
    /// The bytes of the representation that are to come from the network.
    public var received: Range<Int64>
    /// The candidate whose stored content surrounds the received content; `nil` without stored content.
    public var candidate: Int?
    /// The length of the whole representation, if known.
    var completeLength: Int64?
    /// The stored parts of the candidate.
    var parts: StoredParts?
    var isCombinable: Bool
    /// Whether the bytes of a transfer that ended early are stored.
    var keepsBeginning = true

    /// The part of the candidate's stored content before the received content; empty if there is none.
    public var before: Range<Int64> {
      0..<(parts?.count(before: received.lowerBound) ?? 0)
    }

    /// Returns the part of the candidate's stored content after the received content.
    ///
    /// - Parameter count: how many bytes came from the network; all, unless the transfer ended early.
    public func after(_ count: Int64) -> Range<Int64> {
      guard let parts else { return 0..<0 }
      return parts.count(before: received.lowerBound + Swift.min(count, Int64(received.count)))..<parts.count
    }

    /// The total number of bytes when everything has arrived.
    public var count: Int64 {
      Int64(before.count) + Int64(received.count) + Int64(after(Int64(received.count)).count)
    }
  }
}

extension CacheEngine.ContentAssembly {
  /// Makes the assembly of a whole representation that can be completed later.
  init(ofWhole length: Int64) {
    self.init(received: 0..<length, candidate: nil, completeLength: length, parts: nil, isCombinable: true)
  }
}

extension CacheEngine.Outcome {
  /// Returns what to store of a response whose transfer ended early (§3.3): the received bytes, and the stored bytes
  /// around them.
  ///
  /// Returns `nil` if nothing should be stored: the stored response then stays as it is.
  ///
  /// - Parameter count: how many bytes of the content arrived.
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
