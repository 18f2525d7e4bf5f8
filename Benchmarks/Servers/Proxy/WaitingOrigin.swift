// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPTypes
import Loopback

/// The origin of `waiting`: it answers each path after a time of its own.
struct WaitingOrigin: Sendable {
  struct Answer: Sendable {
    var status = 200
    var cacheControl: String?
    /// Further fields.
    var fields = HTTPFields()
    var delay: Duration
    /// The delay of the first response, if that is different.
    var firstDelay: Duration?
    var bytes: Int
    var ending = LoopbackOrigin.Response.Ending.whole
    /// Whether the connection of the first request is closed without a response.
    var losesFirst = false

    init(_ cacheControl: String?, _ delay: Duration = .zero, first: Duration? = nil, bytes: Int = 1024) {
      (self.cacheControl, self.delay, firstDelay, self.bytes) = (cacheControl, delay, first, bytes)
    }
  }

  private final class Board: Sendable {
    let answers = Mutex<[String: (answer: Answer, requests: Int)]>([:])
    let arrived = DispatchSemaphore(value: 0)
    private let bodies = Mutex<[Int: [UInt8]]>([:])

    func body(_ bytes: Int) -> [UInt8] {
      bodies.withLock { known in
        let body = known[bytes] ?? [UInt8](repeating: UInt8(ascii: "x"), count: bytes)
        known[bytes] = body
        return body
      }
    }
  }

  private let origin: LoopbackOrigin
  private let board: Board

  static func start() async throws -> WaitingOrigin {
    let board = Board()
    let origin = try await LoopbackOrigin.start { request in
      let found = board.answers.withLock { answers in
        answers[request.target]?.requests += 1
        return answers[request.target]
      }
      guard let (answer, number) = found else { return .init(status: 404) }
      board.arrived.signal()
      let delay = number == 1 ? answer.firstDelay ?? answer.delay : answer.delay
      if delay > .zero { try? await Task.sleep(for: delay) }
      var fields = answer.fields
      fields[.contentType] = "text/plain"
      fields[.cacheControl] = answer.cacheControl
      return .init(
        status: answer.status, fields: fields, bytes: board.body(answer.bytes),
        ending: answer.losesFirst && number == 1 ? .noResponse : answer.ending)
    }
    return WaitingOrigin(origin: origin, board: board)
  }

  var port: Int { origin.port }
  func stop() async { await origin.stop() }

  /// Sets the answer to a path.
  func publish(_ answer: Answer, at path: String) { board.answers.withLock { $0[path] = (answer, 0) } }

  /// The number of requests for a path.
  func requests(_ path: String) -> Int { board.answers.withLock { $0[path]?.requests ?? 0 } }

  /// Waits until a path has been requested. Returns `false` if it is not requested within 20 seconds.
  func awaitRequest(_ path: String) -> Bool {
    while requests(path) == 0 {
      guard board.arrived.wait(timeout: .now() + 20) == .success else { return false }
    }
    return true
  }
}
