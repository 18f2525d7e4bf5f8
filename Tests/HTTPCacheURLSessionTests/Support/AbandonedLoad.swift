// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if os(Linux)
  import CacheMutex
  import Foundation
  import FoundationNetworking
  import HTTPCacheStore
  import HTTPCacheURLSession
  import HTTPTypes
  import Loopback
  import TestSupport
  import Testing

  /// Content whose readers leave before its end, and tasks that are suspended.
  final class AbandonedLoad: Sendable {
    /// Where the content comes from.
    private enum Place: String, CaseIterable {
      case memory, disk, origin

      var size: Int { self == .memory ? 20_000 : 400_000 }
    }

    /// When its reader leaves.
    private enum Moment: CaseIterable {
      /// Its task is cancelled at any time up to the head.
      case beforeHead
      case afterHead
      case amidContent
      /// Its task is cancelled between two pieces.
      case amidReading
    }

    private let origin: LoopbackOrigin
    private let cache: HTTPCache
    private let session: HTTPCacheSession
    private let urlSession: URLSession
    private let folder = temporaryURL()
    /// Holds the responses to `/held/…`.
    private let gate: GateHolder
    private let problems = Recorder<String>()
    /// What the process occupied when that was recorded.
    private let first = Mutex((descriptors: 0, threads: 0))

    private final class GateHolder: Sendable {
      let gate = Mutex(Gate())
    }

    init() async throws {
      let gate = GateHolder()
      self.gate = gate
      origin = try await LoopbackOrigin.start { request in
        let place = Place(rawValue: String(request.target.dropFirst()))
        if place == nil { await gate.gate.withLock { $0 }.wait() }
        return .init(
          fields: [.cacheControl: place == .memory || place == .disk ? "max-age=3600" : "no-store"],
          bytes: [UInt8](repeating: 1, count: place?.size ?? 1000))
      }
      // What is larger than a piece of a read is on disk only.
      cache = try HTTPCache(.init(memoryCapacity: 4 << 20, diskCapacity: 16 << 20, directory: folder))
      session = HTTPCacheSession(cache: cache, configuration: .plain)
      urlSession = URLSession(configuration: .caching(with: cache, base: .plain))
      for place in [Place.memory, .disk] {
        #expect(try await session.data(from: url(place.rawValue)).0.count == place.size)
      }
      // As many at a time as later.
      try await leave(100)
      try await suspend(40)
      try remember()
    }

    /// Records what the process occupies, to compare it later.
    func remember() throws {
      try first.withLock { $0 = try (ProcessUse.descriptors, ProcessUse.threads) }
    }

    private func url(_ path: String) throws -> URL { try #require(URL(string: origin.url("/" + path))) }

    // MARK: - Leaving

    /// Begins to load so many contents, eight at a time, and leaves each.
    func leave(_ count: Int) async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<count {
          if number >= 8 { try await group.next() }
          let place = Place.allCases[number % 3]
          let moment = Moment.allCases[number / 3 % 4]
          group.addTask { [self] in try await leave(place, moment) }
        }
        try await group.waitForAll()
      }
    }

    private func leave(_ place: Place, _ moment: Moment) async throws {
      let url = try url(place.rawValue)
      let reading = Task { [session] in
        let (bytes, _) = try await session.bytes(from: url)
        if moment == .beforeHead || moment == .afterHead { return }
        for try await _ in bytes.chunks {
          if moment == .amidContent { return }
          withUnsafeCurrentTask { $0?.cancel() }
        }
      }
      if moment == .beforeHead { reading.cancel() }
      switch await reading.result {
      case .success, .failure(is CancellationError): break
      case .failure(let error as URLError) where error.code == .cancelled: break
      case .failure(let error): problems.add("\(place), \(moment): \(error)")
      }
    }

    // MARK: - Suspending

    /// What happens to a task that is suspended.
    private enum Kind: CaseIterable {
      case resumed, resumedHit, cancelled
      /// It is cancelled without having begun.
      case neverBegun
    }

    /// Suspends so many tasks at a time. Half of them are resumed and end with their content, the others are cancelled.
    func suspend(_ count: Int) async throws {
      let gate = Gate()
      self.gate.gate.withLock { $0 = gate }
      let (results, ended) = AsyncStream.makeStream(of: String?.self)
      var tasks: [(kind: Kind, task: URLSessionDataTask)] = []
      for number in 0..<count {
        let kind = Kind.allCases[number % 4]
        let url = try url(kind == .resumedHit ? "memory" : "held/\(number)")
        let expected = kind == .resumedHit ? Place.memory.size : 1000
        let endsWhole = kind == .resumed || kind == .resumedHit
        let task = urlSession.dataTask(with: url) { data, _, error in
          let isRight =
            endsWhole
            ? error == nil && data?.count == expected : (error as? URLError)?.code == .cancelled
          ended.yield(isRight ? nil : "\(kind): \(data?.count ?? 0) bytes, \(String(describing: error))")
        }
        tasks.append((kind, task))
      }
      for (kind, task) in tasks where kind != .neverBegun { task.resume() }
      await gate.arrived(1)
      for (kind, task) in tasks where kind != .neverBegun { task.suspend() }
      for (kind, task) in tasks {
        if kind == .resumed || kind == .resumedHit { task.resume() } else { task.cancel() }
      }
      gate.open()
      for await problem in results.prefix(count) { if let problem { problems.add(problem) } }
    }

    // MARK: - Afterwards

    /// Returns when the process has no more descriptors and threads than were recorded. Threads that wait for work
    /// end some time later.
    func isSettled() async throws {
      #expect(problems.all == [])
      try await cache.fetches.emptied()
      let first = first.withLock { $0 }
      try await eventually {
        try ProcessUse.descriptors <= first.descriptors && ProcessUse.threads <= first.threads
      }
    }

    func stop() async {
      urlSession.finishTasksAndInvalidate()
      await origin.stop()
      cache.close()
      try? FileManager.default.removeItem(at: folder)
    }
  }
#endif
