import Synchronization

/// Takes numbers that nobody needs, so that the compiler does not leave out what computes them.
enum BlackHole {
  private static let sum = Atomic<Int>(0)

  static func take(_ number: Int) {
    sum.add(number, ordering: .relaxed)
  }
}
