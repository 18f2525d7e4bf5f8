// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The output of `wget -S`: the heads of responses, indented by two spaces, among its own messages.
enum WgetTranscript {
  private static let indent = "  "

  static func isOne(_ lines: [HeadLine]) -> Bool {
    lines.contains { $0.text.hasPrefix(indent + "HTTP/") }
  }

  /// Returns the lines of the heads, each with its sender. wget does not print requests: they are made from the
  /// requested addresses.
  static func heads(in lines: [HeadLine]) -> [HeadLine] {
    var heads: [HeadLine] = []
    var isInHead = false
    for line in lines {
      func add(_ sender: HeadLine.Sender, _ text: String) {
        heads.append(HeadLine(number: line.number, sender: sender, text: text))
      }
      let isStatusLine = line.text.hasPrefix(indent + "HTTP/")
      if isStatusLine || (isInHead && line.text.hasPrefix(indent)) {
        add(.server, String(line.text.dropFirst(indent.count)))
        isInHead = true
        continue
      }
      // Ends the head; otherwise a progress bar would count as a folded line.
      if isInHead { add(.server, "") }
      isInHead = false
      if let url = address(line.text) {
        add(.client, "GET \(url) HTTP/1.1")
        add(.client, "")
      }
    }
    return heads
  }

  /// `--2024-01-31 12:00:00--  https://example.com/`.
  private static func address(_ text: String) -> Substring? {
    guard text.hasPrefix("--"), let end = text.ranges(of: "--  ").first, end.lowerBound > text.startIndex
    else {
      return nil
    }
    let url = text[end.upperBound...]
    return url.contains("://") && !url.contains(" ") ? url : nil
  }
}
