import Foundation
import HTTPCacheEngine

/// The world outside: files, standard input and the clock.
enum Input {
  /// Heads are at the front, so content is read only so far.
  private static let limit = 16 << 20

  /// - Parameter path: `-` for standard input.
  static func bytes(of path: String) throws(InputError) -> [UInt8] {
    do {
      let handle =
        try path == "-" ? FileHandle.standardInput : FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      var bytes: [UInt8] = []
      while bytes.count < limit, let chunk = try handle.read(upToCount: 1 << 16), !chunk.isEmpty {
        bytes += chunk
      }
      return bytes
    } catch {
      throw InputError(
        line: nil, problem: "This file cannot be read.", advice: "Check its name, and that you may read it.")
    }
  }

  static var systemTime: Timestamp {
    Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
  }

  static var isTerminalOutput: Bool { isatty(1) == 1 }

  static func complain(_ text: String) {
    FileHandle.standardError.write(Data("httpcache: \(text)\n".utf8))
  }
}
