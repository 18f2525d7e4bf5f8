// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// On Apple platforms, the tests of this module meet Foundation itself.
#if canImport(FoundationNetworking)
  import CacheMutex
  import Foundation
  import FoundationNetworking
  import HTTPCaching
  import TestSupport

  @testable import HTTPCacheURLSession

  /// A task of a session and the client of its protocol object, as Apple documents them:
  ///
  /// - The object is made, started and stopped on one thread, and its client is called there only.
  /// - `stopLoading` may come inside a call of the client. No call follows it.
  /// - Content may come in several calls. A redirect may be reported. A challenge is answered by its sender.
  /// - The content of a request is a stream. The object gets the request with all of its settings.
  final class DocumentedTask: @unchecked Sendable {
    // Unchecked: what changes without a lock is used on the thread only.

    enum Kind: Sendable { case response, content, end, failure, challenge, withdrawal, redirect }

    /// A call of the client.
    struct Event: Sendable {
      var kind: Kind
      var isOnThread: Bool
      var isLate: Bool
    }

    /// How a delegate answers a challenge.
    enum Reply: Sendable {
      case use(password: String)
      case goOnWithout, cancel, handleByDefault, reject, nothing

      func give(to challenge: URLAuthenticationChallenge) {
        let sender = challenge.sender
        switch self {
        case .use(let password):
          let credential = URLCredential(user: "ann", password: password, persistence: .none)
          sender?.use(credential, for: challenge)
        case .goOnWithout: sender?.continueWithoutCredential(for: challenge)
        case .cancel: sender?.cancel(challenge)
        case .handleByDefault: sender?.performDefaultHandling(for: challenge)
        case .reject: sender?.rejectProtectionSpaceAndContinue(with: challenge)
        case .nothing: break
        }
      }
    }

    private struct Result {
      var response: HTTPURLResponse?
      var content = Data()
      var error: (any Error)?
    }

    let events = Recorder<Event>()
    /// The counts of refused credentials in the challenges.
    let refusals = Recorder<Int>()
    private let thread = DispatchQueue(label: "documented client")
    private let key = DispatchSpecificKey<Void>()
    private let isReleased = Gate()
    private let result = Mutex(Result())
    private let stop: (kind: Kind, ordinal: Int)?
    private let reply: @Sendable (URLAuthenticationChallenge) -> Reply
    /// The carrier of the cache lives as long as the configuration.
    private let configuration: URLSessionConfiguration
    private var object: URLProtocol?
    private var isStopped = false

    /// - Parameters:
    ///   - stop: the call inside which the task is cancelled, by its number among those of its kind, from 1.
    ///   - reply: how the delegate answers a challenge, inside the call.
    init(
      _ cache: HTTPCache, options: CachingOptions = CachingOptions(),
      base: URLSessionConfiguration = .ephemeral, stoppedIn stop: (Kind, Int)? = nil,
      reply: @escaping @Sendable (URLAuthenticationChallenge) -> Reply = { _ in .handleByDefault }
    ) {
      self.stop = stop.map { (kind: $0.0, ordinal: $0.1) }
      self.reply = reply
      thread.setSpecific(key: key, value: ())
      configuration = .caching(
        with: cache, options: options, base: base.patient, readsSessions: false
      ) { [thread, isReleased] in
        // The load alone refers to its thread.
        let witness = Witness { isReleased.open() }
        return ClientThread { call in thread.async { withExtendedLifetime(witness) { call() } } }
      }
    }

    func start(_ request: URLRequest) {
      var request = request
      if let body = request.httpBody { request.httpBodyStream = InputStream(data: body) }
      thread.async { [self, request] in
        let type = configuration.protocolClasses?.first as? CachingURLProtocol.Type
        object = type?.init(request: request, cachedResponse: nil, client: Client(self))
        object?.startLoading()
      }
    }

    /// Returns when the load is released, so that it makes no further call.
    func finish() async { await isReleased.wait() }

    /// Starts, and returns when the load is released.
    func run(_ request: URLRequest) async {
      start(request)
      await finish()
    }

    var kinds: [Kind] { events.all.map(\.kind) }
    /// Whether a call came on another thread, or after the load was stopped.
    var hasWrongCall: Bool { events.all.contains { !$0.isOnThread || $0.isLate } }
    var response: HTTPURLResponse? { result.withLock { $0.response } }
    var content: Data { result.withLock { $0.content } }
    var error: (any Error)? { result.withLock { $0.error } }

    // MARK: - On the thread

    private func receive(_ kind: Kind, _ change: (inout Result) -> Void = { _ in }) {
      let isOnThread = DispatchQueue.getSpecific(key: key) != nil
      result.withLock { change(&$0) }
      events.add(Event(kind: kind, isOnThread: isOnThread, isLate: isStopped))
      if let stop, stop.kind == kind, kinds.count(where: { $0 == kind }) == stop.ordinal {
        cancel()
      } else if kind == .end || kind == .failure {
        thread.async { self.cancel() }
      }
    }

    private func cancel() {
      guard !isStopped else { return }
      isStopped = true
      object?.stopLoading()
      thread.async { self.object = nil }
    }

    private final class Client: NSObject, URLProtocolClient {
      private let task: DocumentedTask

      init(_ task: DocumentedTask) { self.task = task }

      func urlProtocol(
        _ object: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy: URLCache.StoragePolicy
      ) {
        task.receive(.response) { $0.response = response as? HTTPURLResponse }
      }

      func urlProtocol(_ object: URLProtocol, didLoad data: Data) {
        task.receive(.content) { $0.content += data }
      }

      func urlProtocolDidFinishLoading(_ object: URLProtocol) { task.receive(.end) }

      func urlProtocol(_ object: URLProtocol, didFailWithError error: any Error) {
        task.receive(.failure) { $0.error = error }
      }

      func urlProtocol(_ object: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        task.refusals.add(challenge.previousFailureCount)
        task.receive(.challenge)
        task.reply(challenge).give(to: challenge)
      }

      func urlProtocol(_ object: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
        task.receive(.withdrawal)
      }

      func urlProtocol(
        _ object: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse
      ) {
        task.receive(.redirect)
      }

      func urlProtocol(_ object: URLProtocol, cachedResponseIsValid response: CachedURLResponse) {}
    }
  }
#endif
