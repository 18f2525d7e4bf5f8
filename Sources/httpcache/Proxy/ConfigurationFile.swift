import Foundation
import HTTPCacheProxy

/// Options of `httpcache proxy` in a file: `name = value` a line, as on the command line without the dashes.
///
/// ```
/// # A comment.
/// origin = http://127.0.0.1:8000
/// memory = 1GB
/// no-stale-when-disconnected
/// ```
enum ConfigurationFile {
  /// The arguments that the file stands for.
  ///
  /// - Throws: ``ConfigurationError`` with the line that is wrong.
  static func arguments(_ text: String, file: String) throws -> [String] {
    var arguments: [String] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line.isEmpty || line.hasPrefix("#") { continue }
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      guard let name = parts.first, !name.isEmpty, !name.hasPrefix("-"),
        !name.contains(where: \.isWhitespace),
        name != "config"
      else {
        throw ConfigurationError(
          "\(file), line \(index + 1): '\(line)' is none; write name = value, as memory = 1GB")
      }
      arguments.append(parts.count == 2 ? "--\(name)=\(parts[1])" : "--\(name)")
    }
    return arguments
  }
}
