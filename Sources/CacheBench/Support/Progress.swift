import Foundation
import Synchronization

/// What is being done, on one line of standard error, if that is a terminal and it takes long.
final class ProgressLine: Sendable {
  private static let patience: UInt64 = 2_000_000_000

  private let isShown: Bool
  private let start = MonotonicClock.now
  private let width = Mutex(0)

  init(isShown: Bool = isatty(STDERR_FILENO) == 1) {
    self.isShown = isShown
  }

  func show(_ text: String) {
    guard isShown, MonotonicClock.now - start > Self.patience else { return }
    width.withLock { width in
      write("\r" + text + String(repeating: " ", count: max(0, width - text.count)))
      width = text.count
    }
  }

  func clear() {
    width.withLock { width in
      guard width > 0 else { return }
      write("\r" + String(repeating: " ", count: width) + "\r")
      width = 0
    }
  }

  private func write(_ text: String) {
    FileHandle.standardError.write(Data(text.utf8))
  }
}
