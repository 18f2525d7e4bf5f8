// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheURLSession
import HTTPTypes
import LoopbackOrigin
import Synchronization
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Foundation on Linux ends the process when a cancellation meets the end of a task, or a redirect, at the wrong moment.
@Suite("Cancellation at every moment", .timeLimit(.minutes(10)))
struct CancellationTests {
  enum Kind: String, CaseIterable { case hit, miss, broken, moved }
  enum Form: CaseIterable { case async, handler, delegate }
  /// When a load is cancelled. The first two are spread: a cancellation comes a little later in each round.
  enum Moment: CaseIterable { case begun, arrived, answered, never }

  private static let rounds = 60
  private static let atOnce = 8

  @Test(
    "A cancelled load ends once and affects no other load",
    .timeLimit(.minutes(10)), arguments: Kind.allCases, Form.allCases)
  func cancelled(_ kind: Kind, _ form: Form) async throws {
    let arrivals = Arrivals()
    try await Setting.with { request in
      arrivals.note(request.target)
      return Self.answer(request.target)
    } test: { setting async throws in
      if kind == .hit { _ = try await setting.load("/hit") }
      let delegate = Endings()
      let session = URLSession(
        configuration: .caching(with: setting.cache, base: .ephemeral.patient), delegate: delegate,
        delegateQueue: nil)
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<Self.rounds * Self.atOnce {
          if number >= Self.atOnce { await group.next() }
          let path = kind == .hit ? "/hit" : "/\(kind.rawValue)/\(number)"
          group.addTask {
            do {
              let moment = Moment.allCases[number % Moment.allCases.count]
              let request = try setting.request(path)
              let load = Load(moment: moment, delay: number / Self.atOnce)
              if moment == .arrived { arrivals.expect(path) { load.cancel() } }
              let result =
                switch form {
                case .async: await load.run(request, setting.session)
                case .handler: await load.runWithHandler(request, setting.session)
                case .delegate: await load.run(request, session, delegate)
                }
              Self.judge(result, kind, moment)
            } catch {
              Issue.record(error)
            }
          }
        }
      }
      session.finishTasksAndInvalidate()
    }
  }

  private static func answer(_ target: String) -> LoopbackOrigin.Response {
    let parts = target.split(separator: "/")
    return switch Kind(rawValue: String(parts[0])) {
    case .hit: .init(fields: [.cacheControl: "max-age=3600"], body: "content")
    case .moved: .init(status: 302, fields: [.location: "/miss/\(parts[1])"])
    case .broken: .init(body: String(repeating: "content", count: 1000), ending: .cut(afterBytes: 2000))
    case .miss, nil: .init(fields: [.cacheControl: "no-store"], body: "content", isChunked: true)
    }
  }

  private static func judge(_ result: Result<Data, any Error>, _ kind: Kind, _ moment: Moment) {
    switch result {
    case .success(let data): #expect(kind != .broken && String(decoding: data, as: UTF8.self) == "content")
    case .failure(let error):
      let isCancelled = (error as? URLError)?.code == .cancelled
      #expect(isCancelled ? moment == .begun || moment == .arrived : kind == .broken, "\(error)")
    }
  }
}

/// One load, and its cancellation.
private final class Load: Sendable {
  private struct State {
    var isDue = false
    var cancel: (@Sendable () -> Void)?
  }

  private let moment: CancellationTests.Moment
  private let delay: Int
  private let state = Mutex(State())

  init(moment: CancellationTests.Moment, delay: Int) {
    self.moment = moment
    self.delay = delay
  }

  /// Cancels a little later, on another thread.
  func cancel() {
    Task { [self] in
      for _ in 0..<delay { await Task.yield() }
      let cancel = state.withLock { state in
        state.isDue = true
        return state.cancel
      }
      cancel?()
    }
  }

  private func begun(_ cancel: @escaping @Sendable () -> Void) {
    let isDue = state.withLock { state in
      state.cancel = cancel
      return state.isDue
    }
    if isDue { cancel() }
    if moment == .begun { self.cancel() }
  }

  /// From the completion itself: cancels while Foundation puts the task away.
  private func answered(_ task: URLSessionTask?) {
    if moment == .answered { DispatchQueue.global().async { task?.cancel() } }
  }

  func run(_ request: URLRequest, _ session: URLSession) async -> Result<Data, any Error> {
    let task = Task { try await session.data(for: request).0 }
    begun { task.cancel() }
    let result = await task.result
    if moment == .answered { task.cancel() }
    return result
  }

  func runWithHandler(_ request: URLRequest, _ session: URLSession) async -> Result<Data, any Error> {
    await withCheckedContinuation { continuation in
      let own = Mutex<URLSessionTask?>(nil)
      let task = session.dataTask(with: request) { [self] data, _, error in
        answered(own.withLock { $0 })
        continuation.resume(returning: error.map { .failure($0) } ?? .success(data ?? Data()))
      }
      own.withLock { $0 = task }
      task.resume()
      begun { task.cancel() }
    }
  }

  func run(
    _ request: URLRequest, _ session: URLSession, _ delegate: Endings
  ) async -> Result<Data, any Error> {
    await withCheckedContinuation { continuation in
      let task = session.dataTask(with: request)
      delegate.expect(task) { [self] result in
        answered(task)
        continuation.resume(returning: result)
      }
      task.resume()
      begun { task.cancel() }
    }
  }
}

/// What is done when a request has reached the origin, before its answer.
private final class Arrivals: Sendable {
  private let actions = Mutex<[String: @Sendable () -> Void]>([:])

  func expect(_ path: String, _ action: @escaping @Sendable () -> Void) {
    actions.withLock { $0[path] = action }
  }

  func note(_ path: String) { actions.withLock { $0.removeValue(forKey: path) }?() }
}

/// A delegate that hands each task's result to the one who waits for it.
private final class Endings: NSObject, URLSessionDataDelegate, Sendable {
  private struct Running {
    var data = Data()
    var end: @Sendable (Result<Data, any Error>) -> Void
  }

  private let running = Mutex<[Int: Running]>([:])

  func expect(_ task: URLSessionTask, _ end: @escaping @Sendable (Result<Data, any Error>) -> Void) {
    running.withLock { $0[task.taskIdentifier] = Running(end: end) }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    running.withLock { $0[dataTask.taskIdentifier]?.data.append(data) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let ended = running.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else {
      Issue.record("a task ended twice")
      return
    }
    ended.end(error.map { .failure($0) } ?? .success(ended.data))
  }
}
