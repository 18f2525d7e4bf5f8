// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import Foundation

/// An HTTP/1.1 server on a free port of 127.0.0.1, with a thread for each connection.
///
/// It answers requests without a body, one after the other on each connection. Its threads wait in the system, and take
/// no thread of the pool for Swift's tasks.
final class ThreadedOrigin: Sendable {
  /// Returns the bytes of the whole response.
  typealias Answer = @Sendable (Request) -> [UInt8]

  /// The bytes of a request.
  struct Request {
    fileprivate let head: ArraySlice<UInt8>

    /// Whether the target begins with a path.
    func isFor(_ path: String) -> Bool {
      head.drop { $0 != UInt8(ascii: "/") }.starts(with: path.utf8)
    }

    /// - Parameter line: a field in lower case, such as `if-none-match: "1"`.
    func has(_ line: String) -> Bool {
      head.split(separator: UInt8(ascii: "\n")).contains { field in
        // The last field has no CR.
        let text = field.last == UInt8(ascii: "\r") ? field.dropLast() : field
        // Letters become lower case; the other characters of a field that is asked for stay as they are.
        return text.elementsEqual(line.utf8) { $0 | 0x20 == $1 }
      }
    }
  }

  let port: Int
  private let listener: Int32
  private let answer: Answer
  private let count = Atomic<Int>(0)
  private let busy = Atomic<UInt64>(0)
  /// The open connections; `nil` when the server stops.
  private let connections = Mutex<Set<Int32>?>([])
  private let threads = DispatchGroup()

  init(_ answer: @escaping Answer) throws {
    let listener = LoopbackSocket.make()
    guard listener >= 0, LoopbackSocket.withAddress(0, { bind(listener, $0, $1) }) == 0,
      listen(listener, 128) == 0, let port = LoopbackSocket.port(of: listener)
    else {
      close(listener)
      throw BenchError.unprepared("cannot listen on 127.0.0.1: \(String(cString: strerror(errno)))")
    }
    (self.answer, self.listener, self.port) = (answer, listener, port)
    detach { $0.accept() }
  }

  /// The number of requests so far.
  var requestCount: Int { count.load(ordering: .relaxed) }

  /// The processor time that sending has taken so far, in nanoseconds.
  var sendingNanoseconds: UInt64 { busy.load(ordering: .relaxed) }

  /// Returns the URL of a path on this server.
  func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

  /// Closes the port and all connections. Returns when all threads have ended.
  func stop() async {
    connections.withLock { open in
      for socket in open ?? [] { shutdown(socket, Int32(SHUT_RDWR)) }
      open = nil
    }
    // Wakes the thread that accepts: not all systems wake it when its socket is closed.
    let socket = LoopbackSocket.make()
    _ = LoopbackSocket.withAddress(port) { connect(socket, $0, $1) }
    close(socket)
    await withCheckedContinuation { continuation in
      threads.notify(queue: .global()) { continuation.resume() }
    }
  }

  private func detach(_ body: @escaping @Sendable (ThreadedOrigin) -> Void) {
    threads.enter()
    let thread = Thread { [self] in
      body(self)
      threads.leave()
    }
    thread.stackSize = 1 << 19
    thread.start()
  }

  private func accept() {
    while true {
      let socket = Foundation.accept(listener, nil, nil)
      if socket < 0, errno == EINTR || errno == ECONNABORTED { continue }
      guard socket >= 0, connections.withLock({ $0?.insert(socket) }) != nil else {
        close(socket)
        break
      }
      LoopbackSocket.prepare(socket)
      detach { $0.serve(socket) }
    }
    // A child process that is being started has a copy of the listener until it runs its program. On Linux, this ends both.
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// Sends a response, in pieces: when its last byte arrives, the time of all pieces but one has been counted.
  private func send(_ response: ArraySlice<UInt8>, on socket: Int32) -> Bool {
    var rest = response
    while !rest.isEmpty {
      let start = MonotonicClock.ofThread
      guard LoopbackSocket.send(rest.prefix(1 << 20), on: socket) else { return false }
      busy.add(MonotonicClock.ofThread - start, ordering: .relaxed)
      rest = rest.dropFirst(1 << 20)
    }
    return true
  }

  private func serve(_ socket: Int32) {
    let end = Array("\r\n\r\n".utf8)
    var unread: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 14)
    serving: while true {
      let received = recv(socket, &piece, piece.count, 0)
      guard received > 0 else { break }
      unread += piece.prefix(received)
      while let range = unread.firstRange(of: end) {
        count.add(1, ordering: .relaxed)
        guard send(answer(Request(head: unread[..<range.lowerBound]))[...], on: socket) else { break serving }
        unread.removeSubrange(..<range.upperBound)
      }
    }
    // Under the lock, so that `stop()` cannot shut down another file of the same number.
    connections.withLock { open in
      _ = open?.remove(socket)
      close(socket)
    }
  }
}
