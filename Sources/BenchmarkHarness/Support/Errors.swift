// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import Foundation
import SystemPackage

/// Why a measurement would be meaningless.
package enum BenchError: Error, CustomStringConvertible {
  /// An operation that must always succeed failed.
  case failed(action: Action, contender: Contender, failures: Int, operations: Int)
  /// The result is not the one to measure.
  case unexpected(what: String, found: String)
  /// Something could not be prepared.
  case unprepared(String)

  package var description: String {
    switch self {
    case .failed(let action, let contender, let failures, let operations):
      "'\(action.rawValue)' failed \(failures) of \(operations) times on \(contender.rawValue); the figures would be meaningless"
    case .unexpected(let what, let found): "'\(what)' had an unexpected result: \(found)"
    case .unprepared(let what): "cannot prepare the measurement: \(Printable.text(what))"
    }
  }
}

/// Why a file cannot be used.
package struct FileError: Error, CustomStringConvertible {
  package var path: String
  /// Whether the file could not be read at all, instead of having the wrong contents.
  package var isUnreadable: Bool
  package var what: String

  package init(path: String, isUnreadable: Bool = false, what: String) {
    (self.path, self.isUnreadable, self.what) = (path, isUnreadable, what)
  }

  package var description: String { "\(Printable.text(path)): \(what)" }

  /// EX_NOINPUT or EX_DATAERR of sysexits.h.
  package var exitCode: ExitCode { ExitCode(isUnreadable ? 66 : 65) }

  /// Runs a body that uses files, and reports an error with one on standard error.
  package static func reporting<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch let error as FileError {
      Output.note("\(OwnProgram.name): \(error)\n")
      throw error.exitCode
    }
  }
}

package enum InputFile {
  /// Returns the bytes of a file that is not larger than a limit.
  package static func bytes(of path: String, limit: Int) throws -> [UInt8] {
    do {
      let file = try FileDescriptor.open(FilePath(path), .readOnly)
      defer { try? file.close() }
      var all: [UInt8] = []
      // Piece by piece: a pipe has no known size.
      var piece = [UInt8](repeating: 0, count: 1 << 20)
      while all.count <= limit {
        let count = try piece.withUnsafeMutableBytes { try file.read(into: $0) }
        guard count > 0 else { return all }
        all += piece.prefix(count)
      }
    } catch let error as Errno {
      throw FileError(path: path, isUnreadable: true, what: "cannot read the file: \(error)")
    }
    throw FileError(path: path, what: "the file is larger than \(Format.bytes.text(limit))")
  }
}

/// The program that is running.
package enum OwnProgram {
  package static let path =
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
  package static let name = URL(fileURLWithPath: CommandLine.arguments[0]).lastPathComponent
}

package enum Printable {
  /// Returns external text without characters that control a terminal.
  package static func text(_ text: String) -> String {
    String(
      String.UnicodeScalarView(
        text.unicodeScalars.map { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
            "\u{FFFD}"
          default: scalar
          }
        }))
  }
}
