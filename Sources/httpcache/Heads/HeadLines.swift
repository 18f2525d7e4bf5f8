// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A line of the input that may belong to a head, with its sender.
struct HeadLine: Hashable {
  enum Sender: Hashable {
    /// Marked `> `.
    case client
    /// Marked `< `.
    case server
    /// Not marked: the text of the line determines it.
    case unknown
  }

  var number: Int
  var sender: Sender
  var text: String

  var isBlank: Bool { text.allSatisfy { $0 == " " || $0 == "\t" } }
  var isStatusLine: Bool { text.hasPrefix("HTTP/") }
}

/// The input as lines.
struct HeadLines {
  var lines: [HeadLine]
  /// Whether the sender of each line is known.
  var isMarked = false
  /// Whether the connection was encrypted; `nil` if the input does not say.
  var isEncrypted: Bool?
  /// Whether the status code is assumed to be 200, because the input has none.
  var isStatusAssumed = false

  /// Splits the input at LF or CRLF.
  ///
  /// For a transcript of `curl -v` or `wget -S`, or text from the developer tools of a browser, only the lines of heads
  /// are kept. The rest is notes, progress and content. Bytes that are not valid UTF-8 become U+FFFD: they may be
  /// content.
  init(_ bytes: [UInt8]) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let input = bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
    var all: [HeadLine] = []
    var isEncrypted = false
    for (index, raw) in input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .enumerated()
    {
      let line = raw.last == UInt8(ascii: "\r") ? raw.dropLast() : raw
      all.append(HeadLine(number: index + 1, sender: .unknown, text: String(decoding: line, as: UTF8.self)))
    }
    let marked = all.compactMap { line -> HeadLine? in
      if line.text.hasPrefix("* ") {
        if line.text.hasPrefix("* SSL connection using") { isEncrypted = true }
        return nil
      }
      guard let sender = Self.sender(of: line.text) else { return nil }
      return HeadLine(number: line.number, sender: sender, text: String(line.text.dropFirst(2)))
    }
    let isMarked = marked.contains {
      $0.sender == .server && $0.isStatusLine || $0.sender == .client && StartLine.isRequest($0.text)
    }
    if isMarked {
      self.init(lines: marked, isMarked: true, isEncrypted: isEncrypted)
    } else if WgetTranscript.isOne(all) {
      self.init(lines: WgetTranscript.heads(in: all), isMarked: true)
    } else if let pasted = PastedHeads(all) {
      self.init(lines: pasted.heads, isMarked: true, isStatusAssumed: pasted.isStatusAssumed)
    } else {
      self.init(lines: all)
    }
  }

  private init(
    lines: [HeadLine], isMarked: Bool = false, isEncrypted: Bool? = nil, isStatusAssumed: Bool = false
  ) {
    (self.lines, self.isMarked) = (lines, isMarked)
    (self.isEncrypted, self.isStatusAssumed) = (isEncrypted, isStatusAssumed)
  }

  private static func sender(of text: String) -> HeadLine.Sender? {
    if text.hasPrefix("> ") || text == ">" { return .client }
    if text.hasPrefix("< ") || text == "<" { return .server }
    return nil
  }
}
