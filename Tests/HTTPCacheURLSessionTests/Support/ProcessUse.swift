// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if os(Linux)
  import BenchmarkHarness
  import Foundation
  import Testing

  /// What this process occupies now.
  enum ProcessUse {
    /// The number of open descriptors.
    static var descriptors: Int {
      get throws { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
    }

    static var threads: Int {
      get throws { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count }
    }

    static var residentBytes: Int {
      get throws { try #require(ResidentMemory.now) }
    }
  }
#endif
