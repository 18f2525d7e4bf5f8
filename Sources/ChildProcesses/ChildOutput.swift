// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// What a child has written to a pipe. All of it stays in memory, so that it can be read more than once.
package final class ChildOutput: Sendable {
  private struct State {
    var bytes: [UInt8] = []
    var isComplete = false
  }

  private let state = Watched(State())

  func append(_ bytes: some Sequence<UInt8>) { state.update { $0.bytes += bytes } }

  func complete() { state.update { $0.isComplete = true } }

  /// The bytes so far.
  package var bytes: [UInt8] { state.read(\.bytes) }

  /// The bytes so far, as text.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Returns when the output is complete: the child has closed it, or has ended.
  package func all() async throws -> [UInt8] { try await state.first { $0.isComplete ? $0.bytes : nil } }

  /// The lines from the first one on, as the child writes them.
  package var lines: Lines { Lines(output: self) }

  /// Returns the first line with this text, or `nil` if the output ends without it.
  package func line(containing text: String) async throws -> String? {
    for try await line in lines where line.contains(text) { return line }
    return nil
  }

  package struct Lines: AsyncSequence, Sendable {
    fileprivate let output: ChildOutput

    package func makeAsyncIterator() -> Iterator { Iterator(output: output) }

    package struct Iterator: AsyncIteratorProtocol {
      fileprivate let output: ChildOutput
      private var position = 0

      fileprivate init(output: ChildOutput) {
        self.output = output
      }

      /// Returns the next line without its end, or `nil` after the last one. The last one needs no end.
      package mutating func next() async throws -> String? {
        let start = position
        let found = try await output.state.first { state -> (line: String?, next: Int)? in
          let rest = state.bytes[start...]
          if let end = rest.firstIndex(of: 0x0A) {
            return (String(decoding: rest[..<end], as: UTF8.self), end + 1)
          }
          guard state.isComplete else { return nil }
          return (rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self), rest.endIndex)
        }
        position = found.next
        return found.line
      }
    }
  }
}
