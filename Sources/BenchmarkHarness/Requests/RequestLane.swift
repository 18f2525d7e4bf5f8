// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

/// Requests of one kind, each timed by itself.
package struct RequestLane {
  /// The response: its bytes in memory, and its source; `nil` if no cache took part.
  package typealias Answer = (bytes: Int?, source: CachedResponse.Source?)

  package var action: Action
  package var contender = Contender.ours
  /// The expected source of the responses.
  package var source: CachedResponse.Source?
  /// Whether another request of this kind, which is not timed, comes before each: a hit after a request that used the
  /// network is slower, because other code has displaced its own from the processor's caches.
  package var isWarmedUp = false
  /// Makes a request, and returns a check of the response, which is not timed.
  package var load: (_ number: Int) async throws -> () -> Answer
  private var round = Round(timesEach: true)
  /// Nanoseconds of processor time of the process, for each request.
  private var processor: [Double] = []
  private var reached = 0

  package init(
    _ action: Action, _ contender: Contender = .ours, source: CachedResponse.Source?,
    isWarmedUp: Bool = false,
    load: @escaping (_ number: Int) async throws -> () -> Answer
  ) {
    (self.action, self.contender, self.source, self.load) = (action, contender, source, load)
    self.isWarmedUp = isWarmedUp
  }

  private var reaches: Bool {
    source == .network || source == .validated
      || [.plainRequest, .plainClient, .plainTransfer].contains(action)
  }

  /// Makes requests of all kinds in turns, so that other work on the machine affects all kinds alike, and in another
  /// order each time: a request is slower after one that used the network. This is not a ``Contest``, because requests
  /// are asynchronous.
  ///
  /// - Parameters:
  ///   - kind: what the measurements belong to.
  ///   - originRequests: returns the number of requests that have reached the origin.
  ///   - originBusy: returns the processor time of an origin in this process that is not to count, in nanoseconds.
  package static func measure(
    _ lanes: [RequestLane], _ kind: Measurement.Kind, requests: Int, valueSize: Int,
    originRequests: () -> Int, originBusy: () -> UInt64 = { 0 }, _ progress: ProgressLine
  ) async throws -> [Measurement] {
    var lanes = lanes
    var generator = SplitMix64(seed: 1)
    for number in 0..<requests {
      if number.isMultiple(of: 50) { progress.show("\(number) of \(requests) requests of each kind") }
      for index in lanes.indices.shuffled(using: &generator) {
        if lanes[index].isWarmedUp { _ = try await lanes[index].load(number)() }
        let before = originRequests()
        let busy = MonotonicClock.ofProcess - originBusy()
        let start = MonotonicClock.now
        let answer = try await lanes[index].load(number)
        let time = MonotonicClock.now - start
        let processorTime = MonotonicClock.ofProcess - originBusy() - busy
        try check(answer(), lanes[index].action, lanes[index].source, valueSize)
        lanes[index].reached += originRequests() - before
        // The first request is for warming up.
        if number == 0, requests > 10 { continue }
        lanes[index].round.record(time)
        lanes[index].processor.append(Double(processorTime))
      }
    }
    return try lanes.map { lane in
      guard lane.reached == (lane.reaches ? requests : 0) else {
        throw BenchError.unexpected(
          what: lane.action.rawValue, found: "\(lane.reached) of \(requests) requests reached the origin")
      }
      var one = Measurement(
        kind, lane.action, lane.contender,
        [.requests: Double(requests), .originRequests: Double(lane.reached)])
      one.add(lane.round)
      one[.processorNanoseconds] = median(lane.processor)
      return one
    }
  }

  package static func check(
    _ answer: Answer, _ action: Action, _ source: CachedResponse.Source?, _ valueSize: Int
  ) throws {
    guard answer.bytes == valueSize, answer.source == source else {
      throw BenchError.unexpected(
        what: action.rawValue,
        found:
          "\(answer.bytes ?? 0) bytes from \(answer.source?.rawValue ?? "no cache"), not \(valueSize) from "
          + "\(source?.rawValue ?? "none")")
    }
  }
}
