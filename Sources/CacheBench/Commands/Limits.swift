import ArgumentParser
import Foundation

/// What flags are refused for, in words that name the flag, its value and what to give.
enum Limits {
  static func require(_ value: Int, _ name: String, in range: ClosedRange<Int>) throws {
    guard range.contains(value) else {
      throw ValidationError("--\(name) is \(value); give \(range.lowerBound) to \(range.upperBound)")
    }
  }

  static func requireSeconds(_ seconds: Double) throws {
    guard seconds.isFinite, seconds > 0, seconds <= 3600 else {
      throw ValidationError("--seconds is \(seconds); give more than 0, and 3600 at most")
    }
  }

  static func requireExponent(_ exponent: Double) throws {
    guard exponent.isFinite, exponent > 0, exponent <= 10 else {
      throw ValidationError(
        "--zipf-exponent is \(exponent); give more than 0, and 10 at most (for 0, --distribution uniform)")
    }
  }

  static func requireShare(_ share: Double, _ name: String) throws {
    guard share.isFinite, share > 0, share <= 1 else {
      throw ValidationError(
        "--\(name) is \(share); give a share of all, more than 0, and 1 at most (0.1 for 10 %)")
    }
  }

  static func requireShards(_ shards: Int?) throws {
    guard let shards else { return }
    guard (1...1024).contains(shards), shards.nonzeroBitCount == 1 else {
      throw ValidationError("--shards is \(shards); give a power of two from 1 to 1024")
    }
  }

  /// - Parameter bytes: what a run takes of memory, about; `nil` if that is beyond all bounds.
  static func requireMemory(_ bytes: Double?, _ what: String) throws {
    let available = Double(ProcessInfo.processInfo.physicalMemory) / 4 * 3
    guard let bytes, bytes <= available else {
      throw ValidationError(
        "\(what) needs \(bytes.map(Format.bytes) ?? "far too much") of memory, and there is room for "
          + "\(Format.bytes(available)): give fewer keys or smaller values")
    }
  }

  /// - Parameter bytes: what a run takes of the temporary directory, about.
  static func requireDisk(_ bytes: Double, _ what: String) throws {
    let path = FileManager.default.temporaryDirectory.path
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: path)
    guard let free = (attributes?[.systemFreeSize] as? NSNumber)?.doubleValue, bytes > free else { return }
    throw ValidationError(
      "\(what) needs \(Format.bytes(bytes)) on disk, and \(path) has \(Format.bytes(free)): give less, or set TMPDIR"
    )
  }
}
