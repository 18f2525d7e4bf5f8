import Synchronization

/// The number of the latest removal that was acknowledged, in a file beside the log.
///
/// A log that ends where a record does is whole, as far as it can tell by itself. Where its end was cut off, by a repair of
/// the file system or by a copy that was not finished, there may have been a removal: then this number is higher than all
/// that is found. It is written when the removal is on the disk, and is not synced: without power it may be older than the
/// log, and never newer.
final class AcknowledgedRemovals: Sendable {
  static let fileSize = 16

  private struct State: Sendable {
    var file: (any File)?
    var number: UInt64 = 0
  }

  private let state = Mutex(State())

  /// - Parameter open: opens the file, making it if it is not there.
  func raise(
    to number: UInt64, hasher: KeyHasher, open: () throws(FileFailure) -> any File
  ) throws(FileFailure) {
    let failure = state.withLock { state -> FileFailure? in
      guard number > state.number else { return nil }
      do throws(FileFailure) {
        let file = if let known = state.file { known } else { try open() }
        state.file = file
        try file.write(Self.bytes(number, hasher: hasher), at: 0)
        state.number = number
        return nil
      } catch {
        state.file = nil
        return error
      }
    }
    if let failure { throw failure }
  }

  /// The directory, and the file in it, is another from now on.
  func forgetFile() {
    state.withLock { $0 = State() }
  }

  static func bytes(_ number: UInt64, hasher: KeyHasher) -> [UInt8] {
    let bytes = DiskFormat.littleEndianBytes(number)
    return bytes + DiskFormat.littleEndianBytes(hasher.checksum(bytes))
  }

  /// The number in a file's bytes; `nil` if they are not as they were written.
  static func number(in bytes: [UInt8], hasher: KeyHasher) -> UInt64? {
    guard bytes.count == fileSize, let number = DiskFormat.words(bytes).first,
      number < DiskFormat.numberLimit, bytes == self.bytes(number, hasher: hasher)
    else { return nil }
    return number
  }
}
