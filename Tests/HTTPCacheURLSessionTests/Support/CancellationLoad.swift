// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCacheURLSession
import HTTPTypes
import Loopback
import TestSupport

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Loads that are cancelled at every moment, eight at a time.
enum CancellationLoad {
  enum Kind: String, CaseIterable, Sendable { case hit, miss, broken, moved }
  enum Form: CaseIterable, Sendable { case async, handler, delegate }
  /// When a load is cancelled. The first two are spread: from one round to the next the cancellation comes later, up to 6 ms
  /// after the moment.
  fileprivate enum Moment: CaseIterable { case begun, arrived, answered, never }

  private static let atOnce = 8

  /// Runs so many rounds, and returns what is wrong with the results.
  static func run(_ kind: Kind, _ form: Form, rounds: Int) async throws -> [String] {
    let arrivals = Arrivals()
    let problems = Recorder<String>()
    try await Setting.with { request in
      arrivals.note(request.target)
      return answer(request.target)
    } test: { setting async throws in
      if kind == .hit { _ = try await setting.load("/hit") }
      let delegate = Endings()
      let session = URLSession(
        configuration: .caching(with: setting.cache, base: .plain), delegate: delegate,
        delegateQueue: nil)
      try await withThrowingTaskGroup(of: String?.self) { group in
        for number in 0..<rounds * atOnce {
          if number >= atOnce, let problem = try await group.next() ?? nil {
            problems.add(problem)
          }
          let path = kind == .hit ? "/hit" : "/\(kind.rawValue)/\(number)"
          group.addTask {
            let moment = Moment.allCases[number % Moment.allCases.count]
            let request = try setting.request(path)
            let load = Load(moment: moment, delay: number / atOnce * 60 / rounds)
            if moment == .arrived { arrivals.expect(path) { load.cancel() } }
            let result =
              switch form {
              case .async: await load.run(request, setting.session)
              case .handler: await load.runWithHandler(request, setting.session)
              case .delegate: await load.run(request, session, delegate)
              }
            return problem(of: result, kind, moment)
          }
        }
        for try await problem in group { if let problem { problems.add(problem) } }
      }
      session.finishTasksAndInvalidate()
      if delegate.repeatedEndCount > 0 {
        problems.add("\(delegate.repeatedEndCount) tasks ended twice")
      }
    }
    return problems.all
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

  /// What is wrong with the result of a load; `nil` if nothing is.
  private static func problem(
    of result: Result<Data, any Error>, _ kind: Kind, _ moment: Moment
  ) -> String? {
    switch result {
    case .success(let data):
      let isRight = kind != .broken && String(decoding: data, as: UTF8.self) == "content"
      return isRight ? nil : "\(moment): \(data.count) bytes of content"
    case .failure(let error):
      let isCancelled = (error as? URLError)?.code == .cancelled
      let isExpected = isCancelled ? moment == .begun || moment == .arrived : kind == .broken
      return isExpected ? nil : "\(moment): \(error)"
    }
  }
}

/// One load, and its cancellation.
private final class Load: Sendable {
  private struct State {
    var isDue = false
    var cancel: (@Sendable () -> Void)?
  }

  private let moment: CancellationLoad.Moment
  private let delay: Int
  private let state = Mutex(State())

  init(moment: CancellationLoad.Moment, delay: Int) {
    self.moment = moment
    self.delay = delay
  }

  /// Cancels on another thread, after the delay.
  func cancel() {
    DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(100 * delay)) { [self] in
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

/// A delegate that hands each task's result to its caller.
private final class Endings: NSObject, URLSessionDataDelegate, Sendable {
  private struct Running {
    var data = Data()
    var end: @Sendable (Result<Data, any Error>) -> Void
  }

  private let running = Mutex<[Int: Running]>([:])
  private let repeatedEnds = Atomic(0)

  /// The ends of tasks that had ended before.
  var repeatedEndCount: Int { repeatedEnds.load(ordering: .relaxed) }

  func expect(_ task: URLSessionTask, _ end: @escaping @Sendable (Result<Data, any Error>) -> Void) {
    running.withLock { $0[task.taskIdentifier] = Running(end: end) }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    running.withLock { $0[dataTask.taskIdentifier]?.data.append(data) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    guard let ended = running.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else {
      repeatedEnds.add(1, ordering: .relaxed)
      return
    }
    ended.end(error.map { .failure($0) } ?? .success(ended.data))
  }
}
