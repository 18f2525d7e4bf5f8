// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CLibFuzzer
import CacheProperties

/// `fuzz`, run by `make fuzz`: libFuzzer over the properties of the engine and the heads of `httpcache explain`.
@main
enum Fuzz {
  static func main() {
    // SwiftPM gives the module's own main to the linker, so libFuzzer's is not there and its driver is called here.
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    _ = LLVMFuzzerRunDriver(&count, &arguments) { start, count in
      // The pointer is libFuzzer's, and good until we return.
      // What chooses nothing is not to be kept.
      Fuzz.tryInput([UInt8](UnsafeBufferPointer(start: start, count: count))) ? 0 : -1
    }
  }

  /// The first byte chooses what is tried, so that one run and one corpus serve all.
  ///
  /// - Returns: whether it chooses anything.
  private static func tryInput(_ bytes: [UInt8]) -> Bool {
    if bytes.first == UInt8.max {
      _ = try? HeadParser.exchanges(in: Array(bytes.dropFirst()))
      return true
    }
    do {
      return try Property.check(choosing: bytes)
    } catch {
      LLVMFuzzerReport("FINDING: \(error)")
    }
  }
}
