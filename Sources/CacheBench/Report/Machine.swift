import Foundation

/// What the figures were measured on.
struct Machine: Codable, Hashable, Sendable {
  var processor: String?
  var cores: Int
  var memoryBytes: UInt64
  var operatingSystem: String
  var architecture: String
  var swiftCompiler: String
  /// Whether the compiler optimised; figures of a debug build mean nothing.
  var isOptimized: Bool
  /// What a look at the clock costs.
  var clockNanoseconds: Double

  static var current: Machine {
    let process = ProcessInfo.processInfo
    return Machine(
      processor: processorName, cores: process.activeProcessorCount, memoryBytes: process.physicalMemory,
      operatingSystem: process.operatingSystemVersionString, architecture: builtArchitecture,
      swiftCompiler: compiler, isOptimized: optimized, clockNanoseconds: MonotonicClock.cost())
  }

  private static var processorName: String? {
    guard let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8) else { return nil }
    for line in text.split(separator: "\n") where line.hasPrefix("model name") {
      return line.split(separator: ":", maxSplits: 1).last.map { $0.trimmingCharacters(in: .whitespaces) }
    }
    return nil
  }

  private static var compiler: String {
    #if compiler(>=6.5)
      "6.5 or later"
    #elseif compiler(>=6.4)
      "6.4"
    #elseif compiler(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }

  private static var builtArchitecture: String {
    #if arch(x86_64)
      "x86_64"
    #elseif arch(arm64)
      "arm64"
    #else
      "unknown"
    #endif
  }

  private static var optimized: Bool {
    #if DEBUG
      false
    #else
      true
    #endif
  }
}
