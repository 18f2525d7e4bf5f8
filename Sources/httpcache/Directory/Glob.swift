import ArgumentParser

/// A pattern in which `*` stands for any text, and `?` for one character.
struct Glob: ExpressibleByArgument, Hashable, Sendable {
  private let pattern: [UInt8]

  init(_ pattern: String) {
    self.pattern = Array(pattern.utf8)
  }

  init?(argument: String) {
    guard !argument.isEmpty else { return nil }
    self.init(argument)
  }

  /// Whether all of a text is as the pattern says.
  ///
  /// - Complexity: O(text times pattern) at worst; going back to the last `*` alone is enough.
  func matches(_ text: String) -> Bool {
    let text = Array(text.utf8)
    var (at, place) = (0, 0)
    var star: (pattern: Int, text: Int)?
    while place < text.count {
      if at < pattern.count, pattern[at] == UInt8(ascii: "*") {
        star = (at, place)
        at += 1
      } else if at < pattern.count, pattern[at] == UInt8(ascii: "?") || pattern[at] == text[place] {
        at += 1
        place += 1
      } else if let last = star {
        at = last.pattern + 1
        place = last.text + 1
        star = (last.pattern, place)
      } else {
        return false
      }
    }
    return pattern[at...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
