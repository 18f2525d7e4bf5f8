// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCaching
import SystemPackage

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The content of a request's stream. The stream is read once, and the content can be sent again.
///
/// A stream may wait for tasks of the application. So it is read on a thread of its own: Swift's threads may be what it
/// waits for, and calls for the disk share theirs. All of it is read before the request is sent. A redirect or a challenge
/// takes the content once more, and Foundation on Linux reads a stream on the thread that serves all transfers of the
/// session.
package final class StreamedContent: Sendable {
  private struct State {
    var isBegun = false
    var result: Result<MessageBody, any Error>?
    var readers: [Int: CheckedContinuation<MessageBody, any Error>] = [:]
    var lastReader = 0
  }

  /// Contains the stream, which is not `Sendable` itself.
  private let request: URLRequest
  private let state = Mutex(State())

  /// Makes the content of a request; `nil` if the request has no stream.
  package init?(_ request: URLRequest) {
    guard request.httpBody == nil, request.httpBodyStream != nil else { return nil }
    self.request = request
  }

  /// Returns the content, in memory or in a temporary file, when all of it has been read.
  package func content() async throws -> MessageBody {
    let number = state.withLock { state in
      state.lastReader += 1
      return state.lastReader
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let (result, begins) = state.withLock { state -> (Result<MessageBody, any Error>?, Bool) in
          // A cancellation may have come before.
          if Task.isCancelled { return (.failure(CancellationError()), false) }
          if let result = state.result { return (result, false) }
          state.readers[number] = continuation
          defer { state.isBegun = true }
          return (nil, !state.isBegun)
        }
        if let result { continuation.resume(with: result) }
        if begins {
          Thread.detachNewThread { [request, weak self] in
            let result = Result { try Self.read(request.httpBodyStream) { self != nil } }
            self?.end(result)
          }
        }
      }
    } onCancel: {
      state.withLock { $0.readers.removeValue(forKey: number) }?.resume(throwing: CancellationError())
    }
  }

  private func end(_ result: Result<MessageBody, any Error>) {
    let readers = state.withLock { state in
      state.result = result
      defer { state.readers = [:] }
      return state.readers.values
    }
    for reader in readers { reader.resume(with: result) }
  }

  /// Reads a stream: the first 256 KiB into memory, and a longer one into a temporary file.
  ///
  /// - Parameter isWanted: `false` if nothing waits for the content any more.
  private static func read(_ stream: InputStream?, while isWanted: () -> Bool) throws -> MessageBody {
    guard let stream else { return .empty }
    stream.open()
    defer { stream.close() }
    var bytes: [UInt8] = []
    var file: TemporaryFile?
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while isWanted() {
      let count = stream.read(&buffer, maxLength: buffer.count)
      if count < 0 {
        // On Linux, reading the error of a stream without one ends the process.
        throw (stream.streamStatus == .error ? stream.streamError : nil)
          ?? URLError(.requestBodyStreamExhausted)
      }
      if count == 0 { break }
      bytes += buffer[..<count]
      if bytes.count > ArrivingContent.memoryLimit {
        let opened = try file ?? TemporaryFile()
        try opened.append(bytes)
        (file, bytes) = (opened, [])
      }
    }
    guard let file else { return MessageBody(bytes) }
    try file.append(bytes)
    return MessageBody(FileContent(file))
  }
}

/// A temporary file, which is removed with this object.
final class TemporaryFile: Sendable {
  let path: FilePath
  private let descriptor: FileDescriptor

  init() throws {
    (path, descriptor) = try Self.make(named: "upload")
  }

  deinit {
    try? descriptor.close()
    try? FileManager.default.removeItem(atPath: path.string)
  }

  func append(_ bytes: [UInt8]) throws { _ = try descriptor.writeAll(bytes) }

  /// Makes a file that this user alone can read.
  static func make(named name: String) throws -> (FilePath, FileDescriptor) {
    let path = FilePath(FileManager.default.temporaryDirectory.path).appending(
      "HTTPCacheURLSession-\(name)-\(UUID().uuidString)")
    let descriptor = try FileDescriptor.open(
      path, .readWrite, options: [.create, .exclusiveCreate, .closeOnExec], permissions: .ownerReadWrite)
    return (path, descriptor)
  }
}
