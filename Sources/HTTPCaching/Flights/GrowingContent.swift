/// Content that is read while the store gets it: what is there, what comes, and at the end what has become of it.
struct GrowingContent: AsyncSequence, Sendable {
  typealias Element = ArraySlice<UInt8>
  typealias Failure = any Error

  let transfer: SharedTransfer
  /// Where to begin, in bytes.
  let start: Int
  /// Brings what is behind a byte, once it is an entry.
  let stored: @Sendable (Int) async throws -> MessageBody

  func makeAsyncIterator() -> Iterator {
    Iterator(content: self, position: start)
  }

  struct Iterator: AsyncIteratorProtocol {
    let content: GrowingContent
    var position: Int
    var stored: MessageBody.Iterator?

    mutating func next() async throws -> ArraySlice<UInt8>? {
      try await next(isolation: nil)
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> ArraySlice<UInt8>? {
      if stored == nil {
        if let bytes = await content.transfer.read(from: position) {
          position += bytes.count
          return bytes
        }
        try Task.checkCancellation()
        stored = try await content.stored(position).makeAsyncIterator()
      }
      return try await stored?.next(isolation: actor)
    }
  }
}
