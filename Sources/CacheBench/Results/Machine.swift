// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// What the figures were measured on.
struct Machine: Codable, Hashable, Sendable {
  var processor = Machine.processorName
  var cores = ProcessInfo.processInfo.activeProcessorCount
  var memoryBytes = ProcessInfo.processInfo.physicalMemory
  var operatingSystem = ProcessInfo.processInfo.operatingSystemVersionString
  var architecture = Machine.builtArchitecture
  var swiftCompiler = Machine.compiler
  /// Whether the compiler optimised; figures of a debug build mean nothing.
  var isOptimized = Machine.optimized
  /// What a look at the clock costs.
  var clockNanoseconds = MonotonicClock.cost()

  private static var processorName: String? {
    let lines = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8).split(separator: "\n")
    let line = lines?.first { $0.hasPrefix("model name") }
    return line?.split(separator: ":", maxSplits: 1).last.map { $0.trimmingCharacters(in: .whitespaces) }
  }

  #if compiler(>=6.5)
    private static let compiler = "6.5 or later"
  #elseif compiler(>=6.4)
    private static let compiler = "6.4"
  #elseif compiler(>=6.3)
    private static let compiler = "6.3"
  #else
    private static let compiler = "6.2"
  #endif

  #if arch(x86_64)
    private static let builtArchitecture = "x86_64"
  #elseif arch(arm64)
    private static let builtArchitecture = "arm64"
  #else
    private static let builtArchitecture = "unknown"
  #endif

  #if DEBUG
    private static let optimized = false
  #else
    private static let optimized = true
  #endif
}
