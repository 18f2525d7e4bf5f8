// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import SystemPackage

/// The output of a benchmark program. `FileHandle` ends the process if it cannot write.
package enum Output {
  /// Writes text to standard output.
  ///
  /// - Throws: the exit status 74 (EX_IOERR of sysexits.h), after a line on standard error.
  package static func write(_ text: String) throws {
    try reporting { _ = try FileDescriptor.standardOutput.writeAll(text.utf8) }
  }

  /// Throws as ``write(_:)`` does if standard output is closed. The next file that is opened would take its place.
  package static func requireOpen() throws {
    try reporting { try FileDescriptor.standardOutput.duplicate().close() }
  }

  private static func reporting(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      note("\(OwnProgram.name): cannot write to standard output: \(error)\n")
      throw ExitCode(74)
    }
  }

  /// Writes text to standard error, if that is possible.
  package static func note(_ text: String) {
    _ = try? FileDescriptor.standardError.writeAll(text.utf8)
  }
}
