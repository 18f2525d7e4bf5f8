// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// Whether the bytes that are served and stored are those that they are said to be.
extension ModelCache {
  /// What is asked for to complete a response is just what is missing, and tied to it.
  func check(_ completion: CacheEngine.Completion, _ sent: HTTPFields, _ request: HTTPRequest) throws {
    try require(candidates.indices.contains(completion.candidate), "no such candidate")
    let stored = candidates[completion.candidate]
    guard let parts = stored.parts, parts.isCombinable else {
      throw Violation(description: "completes what may not be combined")
    }
    try require(request.headerFields[.range] == nil, "another range than the client's")
    let end = completion.end ?? (parts.ranges.last?.upperBound ?? 0) + 1
    let missing = completion.first..<Swift.max(end, completion.first)
    try require(
      (completion.end == nil) == (parts.completeLength == nil) && !missing.isEmpty
        && Positions.joined(Positions.sorted(parts.ranges + [missing]))
          == [0..<(parts.completeLength ?? missing.upperBound)]
        && parts.ranges.allSatisfy { !$0.overlaps(missing) },
      "asks for another gap: \(completion) in \(parts)")
    let last = completion.end == parts.completeLength ? "" : String(missing.upperBound - 1)
    try require(sent[values: .range] == ["bytes=\(completion.first)-\(last)"], "another range")
    let validator = sent[.ifRange] ?? ""
    let tag = stored.fields[values: .eTag].first.flatMap(EntityTag.init(parsing:))
    try require(
      tag.map { !$0.isWeak && $0.fieldValue == validator }
        ?? (validator == stored.fields[values: .lastModified].first),
      "a condition on another: \(validator)")
  }

  /// The head and the pieces of what is served fit each other, what is stored and what was asked.
  func checkContent(
    _ content: CacheEngine.ContentSelection, of stored: StoredResponse, with positions: [Range<Int64>],
    age: Int64?,
    for request: HTTPRequest
  ) throws {
    let head = stored.response(content, ageInSeconds: age, boundary: "b")
    let pieces = stored.pieces(of: content, boundary: "b")
    if stored.parts != nil {
      try require(content != .whole, "the whole of a part")
      try require(request.headerFields[.range] != nil, "a part to a request of the whole")
    }
    guard case .ranges(let ranges, let length) = content else {
      let whole = CacheEngine.ContentPiece.stored(0..<(stored.contentLength ?? .max))
      try require(pieces == (content == .whole ? [whole] : []), "pieces of no range")
      return
    }
    let served = pieces.compactMap { if case .stored(let range) = $0 { range } else { nil } }
    try require(
      served.map { Positions.cut(positions, $0) } == ranges.map { [$0] },
      "\(served) of \(positions) are not \(ranges)")
    if let parts = stored.parts {
      try require(length == parts.completeLength, "ranges of another length")
      try require(
        ranges.allSatisfy { range in parts.ranges.contains { $0.clamped(to: range) == range } },
        "ranges outside the parts")
    } else {
      try require(length == stored.contentLength, "ranges of another length")
    }
    try require(
      ranges.allSatisfy { !$0.isEmpty && $0.lowerBound >= 0 && $0.upperBound <= length ?? .max },
      "ranges outside: \(ranges)")
    try require(head.status == .partialContent, "ranges with \(head.status)")
    let count = pieces.reduce(0) { $0 + $1.count }
    try require(head.headerFields[.contentLength] == String(count), "another length than the pieces'")
  }

  /// What is stored of a content that came, as a whole or up to where it ended early, are bytes that were there.
  func checkAssembly(_ outcome: CacheEngine.Outcome, _ stored: StoredResponse, _ head: HTTPResponse) throws {
    guard let assembly = outcome.assembly else {
      try require(stored.parts == nil, "a part of nothing that came")
      return
    }
    if head.status == .partialContent {
      guard case .bytes(assembly.received, _)? = head.headerFields[.contentRange].flatMap(ContentRange.init)
      else { throw Violation(description: "other bytes came than \(assembly.received)") }
      try require(
        joined(assembly, assembly.received) == stored.parts?.ranges ?? [0..<(stored.contentLength ?? -1)],
        "claims what did not come: \(assembly)")
    }
    for count in [1, endsEarlyAt, Int64(assembly.received.count) - 1] {
      guard let incomplete = outcome.incomplete(after: count) else { continue }
      try require(count > 0 && count < assembly.received.count, "stores of nothing")
      let came = assembly.received.lowerBound..<assembly.received.lowerBound + count
      try require(
        joined(assembly, came) == incomplete.parts?.ranges ?? [0..<(incomplete.contentLength ?? -1)],
        "claims what did not come: \(assembly) after \(count)")
      try require(
        incomplete.contentLength == Int64(assembly.before.count) + count + Int64(assembly.after(count).count),
        "another length")
      var read = StoredResponse(decoding: incomplete.encoded()[...])
      read?.contentLength = incomplete.contentLength
      try require(read == incomplete, "is not the same when read: \(incomplete)")
    }
  }

  /// The positions of what is put together from these bytes and the candidate's.
  private func joined(_ assembly: CacheEngine.ContentAssembly, _ came: Range<Int64>) -> [Range<Int64>] {
    let stored = assembly.candidate.map { contents[$0] } ?? []
    return Positions.joined(
      Positions.cut(stored, assembly.before) + [came]
        + Positions.cut(stored, assembly.after(Int64(came.count))))
  }
}

/// Runs of bytes by their positions in a representation, one after the other as they are stored.
enum Positions {
  /// Those at these places of what is stored.
  static func cut(_ stored: [Range<Int64>], _ places: Range<Int64>) -> [Range<Int64>] {
    var cut: [Range<Int64>] = []
    var start: Int64 = 0
    for run in stored {
      let here = places.clamped(to: start..<start + Int64(run.count))
      if !here.isEmpty {
        let offset = run.lowerBound - start
        cut.append(here.lowerBound + offset..<here.upperBound + offset)
      }
      start += Int64(run.count)
    }
    return cut
  }

  /// Runs that follow each other without a gap as one.
  static func joined(_ runs: [Range<Int64>]) -> [Range<Int64>] {
    runs.reduce(into: []) { joined, run in
      if let last = joined.last, last.upperBound == run.lowerBound {
        joined[joined.count - 1] = last.lowerBound..<run.upperBound
      } else {
        joined.append(run)
      }
    }
  }

  static func sorted(_ runs: [Range<Int64>]) -> [Range<Int64>] {
    runs.sorted { $0.lowerBound < $1.lowerBound }
  }
}
