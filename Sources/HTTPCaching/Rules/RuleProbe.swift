// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine

/// A host and a path of a rule, with the eight bytes of each that exclude nearly all requests by two comparisons.
///
/// It refers to bytes that all probes share, so that to look at it counts no references.
struct RuleProbe: BitwiseCopyable {
  /// The position of the rule.
  let index: Int
  /// The position of the site that it is for; -1 for all.
  let site: Int
  /// Whether a host and a path are all that the rule requires of a request.
  let isSufficient: Bool
  /// The first eight bytes of a path, as far as they are fixed.
  private let pathWord, pathMask: UInt64
  /// The last eight bytes of a host likewise, with 0x20 in each.
  private let hostWord, hostMask: UInt64
  private let path, host: Pattern

  private struct Pattern: BitwiseCopyable {
    /// The last three are those of rules that restrict: the path without slashes and dots at its end may match, too. A folder
    /// is followed by a slash or by nothing.
    enum Kind { case any, exact, prefix, suffix, glob, looseExact, looseFolder, looseGlob }

    let kind: Kind
    let start, end: Int

    init(_ kind: Kind, _ text: [UInt8], _ texts: inout [UInt8]) {
      (self.kind, start, end) = (kind, texts.count, texts.count + text.count)
      texts += text
    }
  }

  /// Returns a probe for each combination of a host and a path, and for the forms in which a path of a rule that restricts is
  /// compared.
  ///
  /// - Parameter texts: gets the bytes of their patterns.
  static func all(
    of match: CacheRule.Match, index: Int, site: Int?, isRestricting: Bool, texts: inout [UInt8]
  ) -> [RuleProbe] {
    var probes: [RuleProbe] = []
    for host in match.hosts.isEmpty ? ["*"] : match.hosts {
      for path in match.paths.isEmpty ? ["*"] : match.paths {
        let plain = RulePath.plain(Array(path.utf8).span)
        func add(_ path: [UInt8], isLoose: Bool) {
          probes.append(RuleProbe(index, site, match, host: host, path: path, isLoose: isLoose, &texts))
        }
        guard isRestricting else {
          add(plain, isLoose: false)
          continue
        }
        let loose = RulePath.lowercasedASCII(plain.span)
        add(loose, isLoose: true)
        // A path with parameters or escapes is compared in its own case, too.
        if loose != plain { add(plain, isLoose: false) }
        if loose.dropLast(2).contains(UInt8(ascii: "*")), loose.suffix(2).elementsEqual("/*".utf8) {
          add(loose.dropLast(2), isLoose: true)
        }
      }
    }
    return probes
  }

  private init(
    _ index: Int, _ site: Int?, _ match: CacheRule.Match, host: String, path: [UInt8], isLoose: Bool,
    _ texts: inout [UInt8]
  ) {
    self.index = index
    self.site = site ?? -1
    isSufficient = RequestCondition(match).isEmpty
    let host = Array(host.lowercasedASCII.utf8)
    let star = UInt8(ascii: "*")
    var fixed = Array(path.prefix { $0 != star })
    switch path.count(where: { $0 == star }) {
    case 0:
      if isLoose { fixed.removeLast(fixed.count - fixed.span.countWithoutEnd) }
      self.path = Pattern(isLoose ? .looseExact : .exact, fixed, &texts)
    case 1 where path.last == star && isLoose && fixed.last == UInt8(ascii: "/"):
      fixed.removeLast()
      self.path = Pattern(.looseFolder, fixed, &texts)
    case 1 where path.last == star: self.path = Pattern(fixed.isEmpty ? .any : .prefix, fixed, &texts)
    default: self.path = Pattern(isLoose ? .looseGlob : .glob, path, &texts)
    }
    pathMask = Self.mask(fixed.count)
    pathWord = fixed.span.firstWord & pathMask
    let end = Array(host.drop { $0 == star })
    self.host =
      host.first == star
      ? Pattern(end.isEmpty ? .any : .suffix, end, &texts) : Pattern(.exact, host, &texts)
    hostMask = end.isEmpty ? 0 : ~(Self.mask(8 - Swift.min(8, end.count)))
    hostWord = end.isEmpty ? 0 : end.span.lastWord & hostMask
  }

  /// The first bytes of a word, in the order of the memory.
  private static func mask(_ count: Int) -> UInt64 { count >= 8 ? .max : (1 << UInt64(count * 8)) - 1 }

  /// The second byte of all paths that match, as the first is a slash; `nil` if it may be any.
  var secondByte: UInt8? { pathMask > 0xFF ? UInt8(truncatingIfNeeded: pathWord >> 8) : nil }

  /// Whether paths and hosts with these words may match in a site.
  @inline(__always)
  func mayMatch(_ pathWord: UInt64, _ hostWord: UInt64, _ site: Int) -> Bool {
    (self.site < 0 || self.site == site) && pathWord & pathMask == self.pathWord
      && hostWord & hostMask == self.hostWord
  }

  func matches(_ path: Span<UInt8>, _ host: Span<UInt8>, _ texts: Span<UInt8>) -> Bool {
    let text = texts.extracting(self.path.start..<self.path.end)
    switch self.path.kind {
    case .any, .suffix: break
    case .exact: if path.count != text.count || !path.begins(with: text) { return false }
    case .prefix: if !path.begins(with: text) { return false }
    case .glob: if !path.isLike(text) { return false }
    case .looseExact: if !path.isLoosely(text) { return false }
    case .looseFolder:
      let isBelow =
        path.begins(with: text) && (path.count == text.count || path[text.count] == UInt8(ascii: "/"))
      if !isBelow, !path.isLoosely(text) { return false }
    case .looseGlob:
      if !path.isLike(text), !path.extracting(0..<path.countWithoutEnd).isLike(text) { return false }
    }
    let name = texts.extracting(self.host.start..<self.host.end)
    switch self.host.kind {
    case .any, .prefix, .glob, .looseExact, .looseFolder, .looseGlob: return true
    case .exact: return host.count == name.count && host.endsIgnoringCase(with: name)
    case .suffix: return host.count > name.count && host.endsIgnoringCase(with: name)
    }
  }
}

extension Span where Element == UInt8 {
  /// The first eight bytes, the first in the lowest bits; zeros where there are fewer.
  var firstWord: UInt64 {
    if count >= 8 { return word(at: 0) }
    var bytes: UInt64 = 0
    for position in 0..<count { bytes |= UInt64(self[position]) << UInt64(position * 8) }
    return bytes
  }

  /// The last eight bytes, the last in the highest bits, each with 0x20: so letters in either case are equal. Without
  /// eight, the rest is zero.
  var lastWord: UInt64 {
    if count >= 8 { return word(at: count - 8) | 0x2020_2020_2020_2020 }
    var bytes: UInt64 = 0
    for position in 0..<count {
      bytes |= UInt64(self[position] | 0x20) << UInt64((8 - count + position) * 8)
    }
    return bytes
  }

  func begins(with bytes: Span<UInt8>) -> Bool {
    guard count >= bytes.count else { return false }
    for position in 0..<bytes.count where self[position] != bytes[position] { return false }
    return true
  }

  /// The length without slashes and dots at the end, but for the first slash: some origins leave them out.
  fileprivate var countWithoutEnd: Int {
    var end = count
    while end > 1, self[end - 1] == UInt8(ascii: "/") || self[end - 1] == UInt8(ascii: ".") { end -= 1 }
    return end
  }

  fileprivate func isLoosely(_ bytes: Span<UInt8>) -> Bool {
    begins(with: bytes) && countWithoutEnd == bytes.count
  }

  var hasCapitals: Bool { indices.contains { (0x41...0x5A).contains(self[$0]) } }

  /// - Parameter bytes: in lowercase.
  fileprivate func endsIgnoringCase(with bytes: Span<UInt8>) -> Bool {
    let start = count - bytes.count
    guard start >= 0 else { return false }
    for position in 0..<bytes.count {
      let byte = self[start + position]
      guard (byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte) == bytes[position] else { return false }
    }
    return true
  }

  /// Whether the bytes are like a pattern in which `*` stands for any text. Backtracking to the last one is enough.
  fileprivate func isLike(_ pattern: Span<UInt8>) -> Bool {
    let star = UInt8(ascii: "*")
    var (at, place) = (0, 0)
    var last: (at: Int, place: Int)?
    while place < count {
      if at < pattern.count, pattern[at] == star {
        last = (at, place)
        at += 1
      } else if at < pattern.count, pattern[at] == self[place] {
        (at, place) = (at + 1, place + 1)
      } else if let known = last {
        last = (known.at, known.place + 1)
        (at, place) = (known.at + 1, known.place + 1)
      } else {
        return false
      }
    }
    while at < pattern.count, pattern[at] == star { at += 1 }
    return at == pattern.count
  }

  /// The length of the host in an authority, without the port and a dot at the end.
  var hostCount: Int {
    var end = count
    while end > 0, self[end - 1] >= 0x30, self[end - 1] <= 0x39 { end -= 1 }
    // The digits of a port follow a colon; otherwise they are part of the host.
    end = end > 0 && self[end - 1] == UInt8(ascii: ":") ? end - 1 : count
    // A name in full ends with a dot.
    return end > 1 && self[end - 1] == UInt8(ascii: ".") ? end - 1 : end
  }

  /// Where the path ends, before its query; `nil` if origins may take the path for another text: it has an escape, a
  /// repeated slash, a backslash, a parameter of a segment, or a segment that begins with a dot.
  ///
  /// Eight bytes at a time: byte by byte, this was a fifth of what rules cost a hit.
  var endOfPlainPath: Int? { plainPath?.end }

  /// The same, and whether there may be capital letters in the path: to look at the words that are at hand costs a hit
  /// 40 instructions in the place of 130.
  var plainPath: (end: Int, mayHaveCapitals: Bool)? {
    let last = Swift.max(0, count - 8)
    var position = 0
    // The mark of the byte before the word, if it is a slash.
    var slash: UInt64 = 0
    // Capital letters and the signs beside them.
    var capitals: UInt64 = 0
    while true {
      // Behind a short path are zeros, and zero does not count.
      let word = count >= 8 ? self.word(at: position) : firstWord
      let slashes = word.bytes(equalTo: UInt8(ascii: "/"))
      let behind = slashes << 8 | slash
      capitals |= word & ~(word &<< 1) & 0x4040_4040_4040_4040
      // `;` and `?` differ in one bit, and so do `.` and the slash.
      let found =
        (word | 0x0404_0404_0404_0404).bytes(equalTo: UInt8(ascii: "?"))
        | word.bytes(equalTo: UInt8(ascii: "%")) | word.bytes(equalTo: UInt8(ascii: "\\"))
        | behind & (word | 0x0101_0101_0101_0101).bytes(equalTo: UInt8(ascii: "/"))
      if found != 0 {
        let first = position &+ found.trailingZeroBitCount / 8
        return self[first] == UInt8(ascii: "?") ? (first, capitals != 0) : nil
      }
      if position == last { return (count, capitals != 0) }
      // The last word may overlap the one before it, in which nothing was found.
      (position, slash) = position &+ 8 > last ? (last, 0) : (position &+ 8, slashes >> 56)
    }
  }
}

/// The forms of a path that rules are compared with.
///
/// Origins differ in what they take for the same path. A rule that keeps requests out of the cache must match whatever an
/// origin may take for its path; one that gives a lifetime must match only what every origin takes for it. Otherwise
/// `/account/..%2Fstatic/a` would be given the lifetime of `/static/*`, and an origin that does not decode the slash would
/// answer it with the client's account.
///
/// The former also matches what only some origins take for the same: see ``loose(_:)``.
enum RulePath {
  /// Returns the path with escapes decoded whose meaning is the same for all origins (RFC 3986 §6.2.2.2), without its query.
  static func plain(_ path: Span<UInt8>) -> [UInt8] {
    decoded(path) { $0 > 0x1F && $0 != 0x7F && !"/\\?#%;".utf8.contains($0) }
  }

  /// Returns the path with all escapes decoded, and without what some origins leave out: repeated slashes, segments of dots
  /// and parameters of segments. A backslash counts as a slash.
  static func resolved(_ path: Span<UInt8>) -> [UInt8] { resolved(decoded(path) { _ in true }) }

  /// Returns two more forms, in which rules that restrict may match: in lower case, up to an encoded NUL, question mark or number
  /// sign, and without blanks and control characters at the end. Programs in C end a text at NUL, a proxy that passes on a decoded
  /// path makes a query of the rest, and `$` in a regular expression matches before a line break. In the second one, escapes are
  /// decoded twice, as an origin behind another proxy may do.
  static func loose(_ path: Span<UInt8>) -> [[UInt8]] {
    let once = decoded(path) { _ in true }
    let twice = decoded(once.span, endsAtQuery: false) { _ in true }
    return (once == twice ? [once] : [once, twice]).map { form in
      var form = form
      if let end = form.firstIndex(where: { $0 == 0 || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
        form.removeSubrange(end...)
      }
      while let last = form.last, last <= 0x20 || last == 0x7F { form.removeLast() }
      return lowercasedASCII(resolved(form.span).span)
    }
  }

  static func lowercasedASCII(_ path: Span<UInt8>) -> [UInt8] {
    path.indices.map { (0x41...0x5A).contains(path[$0]) ? path[$0] | 0x20 : path[$0] }
  }

  private static func resolved(_ decoded: [UInt8]) -> [UInt8] {
    let slash = UInt8(ascii: "/")
    let plain = decoded.map { $0 == UInt8(ascii: "\\") ? slash : $0 }
    let parts = plain.split(separator: slash).map { $0.prefix { $0 != UInt8(ascii: ";") } }
    var segments: [ArraySlice<UInt8>] = []
    for part in parts where !part.isEmpty && !part.elementsEqual(".".utf8) {
      if part.elementsEqual("..".utf8) { _ = segments.popLast() } else { segments.append(part) }
    }
    var result: [UInt8] = []
    for segment in segments {
      result.append(slash)
      result += segment
    }
    let endsInDots = parts.last.map { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) } ?? false
    if plain.last == slash || endsInDots || result.isEmpty { result.append(slash) }
    return result
  }

  private static func decoded(
    _ path: Span<UInt8>, endsAtQuery: Bool = true, where isDecoded: (UInt8) -> Bool
  ) -> [UInt8] {
    var plain: [UInt8] = []
    plain.reserveCapacity(path.count)
    var position = 0
    while position < path.count, !endsAtQuery || path[position] != UInt8(ascii: "?") {
      if path[position] == UInt8(ascii: "%"), position + 2 < path.count,
        let high = hex(path[position + 1]), let low = hex(path[position + 2]), isDecoded(high << 4 | low)
      {
        plain.append(high << 4 | low)
        position += 3
      } else {
        plain.append(path[position])
        position += 1
      }
    }
    return plain
  }

  private static func hex(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }
}
