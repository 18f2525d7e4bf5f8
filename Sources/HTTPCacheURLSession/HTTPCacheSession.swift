// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheEngine
import HTTPCacheStore
import HTTPCaching

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Loads URLs through an HTTP cache, with the methods of `URLSession` that a `URLProtocol` cannot offer on Linux: content
/// as it arrives, downloads, uploads from files, and the cache's answer to each request.
///
/// ```swift
/// let session = HTTPCacheSession(cache: cache)
/// let (data, answer) = try await session.data(for: URLRequest(url: url))
/// print(answer.source, answer.reason)    // hit The stored response is fresh. (RFC 9111 §4.2)
/// ```
///
/// A `URLSession` with the given configuration sends the requests to origins. So timeouts, proxies, cookies and
/// credentials work as there, and the configuration's `requestCachePolicy` applies to requests without their own.
///
/// For existing code that uses `URLSession`, this class is not a replacement: its methods return an ``Answer`` in place of
/// a `URLResponse`. Replace `URLSession.shared` by a `URLSession` whose configuration is
/// `URLSessionConfiguration.caching(with:options:base:)`, and change nothing else. Both give the same answers, and may
/// share a cache.
///
/// A transfer keeps at most a few megabytes in memory, whatever its length, if its content is not loaded into memory.
/// Cancelling a task cancels its load, and ``cancelAll()`` cancels all loads.
///
/// All members may be used from any thread or task.
public final class HTTPCacheSession: Sendable {
  /// The cache that stores responses.
  public let cache: HTTPCache
  let binding: CacheBinding
  let running = RunningLoads()

  /// The options of all requests of this session.
  public var options: CachingOptions { binding.options }

  /// Makes a session.
  ///
  /// - Parameters:
  ///   - cache: the cache that stores responses; several sessions may share one.
  ///   - options: the options of all requests of this session.
  ///   - configuration: the configuration of the requests to origins. It is copied.
  public init(
    cache: HTTPCache, options: CachingOptions = CachingOptions(),
    configuration: URLSessionConfiguration = .default
  ) {
    self.cache = cache
    binding = CacheBinding(
      cache: cache, options: options,
      configuration: (configuration.copy() as? URLSessionConfiguration) ?? configuration)
  }

  // MARK: - Loading

  /// Loads a URL into memory.
  ///
  /// - Throws: `URLError`, as `URLSession` does; `URLError.resourceUnavailable` if the policy forbids the network and no
  ///   stored response can answer.
  public nonisolated(nonsending) func data(
    for request: URLRequest, options: RequestOptions = RequestOptions()
  ) async throws -> (Data, Answer) {
    try await data(load(request, options))
  }

  /// Loads a URL into memory; see ``data(for:options:)``.
  public nonisolated(nonsending) func data(
    from url: URL, options: RequestOptions = RequestOptions()
  ) async throws -> (Data, Answer) {
    try await data(for: URLRequest(url: url), options: options)
  }

  /// Sends a request with content from memory, and loads the response into memory; see ``data(for:options:)``.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - content: its content.
  ///   - options: the options of this request.
  ///   - progress: called with the bytes sent so far, and all bytes. It begins again if a redirect or a challenge sends the
  ///     content again, and is not called if the cache answers. It must not block.
  public nonisolated(nonsending) func upload(
    for request: URLRequest, from content: Data, options: RequestOptions = RequestOptions(),
    progress: Progress? = nil
  ) async throws -> (Data, Answer) {
    var request = request
    request.httpBodyStream = nil
    request.httpBody = content
    return try await data(load(request, options, progress: progress))
  }

  /// Sends a request with the content of a file, and loads the response into memory; see ``data(for:options:)``.
  ///
  /// The file is read while it is sent. It must not change until then.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - file: the file with its content.
  ///   - options: the options of this request.
  ///   - progress: as for ``upload(for:from:options:progress:)``.
  /// - Throws: `URLError.cannotOpenFile` if the file cannot be read.
  public func upload(
    for request: URLRequest, fromFile file: URL, options: RequestOptions = RequestOptions(),
    progress: Progress? = nil
  ) async throws -> (Data, Answer) {
    guard file.isFileURL, FileManager.default.isReadableFile(atPath: file.path) else {
      throw URLError(.cannotOpenFile, file, "The content of the upload cannot be read: \(file.path)")
    }
    var request = request
    (request.httpBody, request.httpBodyStream) = (nil, nil)
    // The content of a QUERY is part of its key.
    if request.httpMethod == "QUERY" {
      return try await upload(
        for: request, from: Data(contentsOf: file), options: options, progress: progress)
    }
    return try await data(load(request, options, file: file, progress: progress))
  }

  /// Loads a URL, and returns as soon as the head of the response has arrived. The content follows while it is read.
  ///
  /// - Throws: as ``data(for:options:)``. Reading the content throws if it ends early.
  public func bytes(
    for request: URLRequest, options: RequestOptions = RequestOptions()
  ) async throws -> (Bytes, Answer) {
    try await answer(load(request, options)) { [running] response, answer in
      let chunks = running.content(response.body, of: answer.response.url)
      return (Bytes(chunks: chunks, length: Self.length(of: response)), answer)
    }
  }

  /// Loads a URL, and returns as soon as the head of the response has arrived; see ``bytes(for:options:)``.
  public func bytes(
    from url: URL, options: RequestOptions = RequestOptions()
  ) async throws -> (Bytes, Answer) {
    try await bytes(for: URLRequest(url: url), options: options)
  }

  /// Loads a URL into a file.
  ///
  /// The file appears when it is complete, and replaces what was there. It is written only if the response is successful
  /// (2xx): check ``Answer/response``. If the transfer ends early, the cache keeps what has arrived, provided that the
  /// response may be stored, has a strong validator and fits into the cache. The next download of the URL then loads only
  /// the rest.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - destination: the place of the file; its folder must exist.
  ///   - options: the options of this request.
  ///   - progress: called with the bytes written so far, and all bytes if that is known. It must not block.
  /// - Throws: as ``data(for:options:)``; `URLError.cannotCreateFile`, `.cannotWriteToFile` and `.cannotMoveFile`.
  @discardableResult
  public func download(
    for request: URLRequest, to destination: URL, options: RequestOptions = RequestOptions(),
    progress: Progress? = nil
  ) async throws -> Answer {
    try await answer(load(request, options)) { response, answer in
      guard response.head.status.kind == .successful else { return answer }
      let length = Self.length(of: response)
      var file = try await FileDestination(destination)
      do {
        var count = 0
        for try await chunk in response.body {
          try await file.add(chunk)
          count += chunk.count
          progress?(count, length)
        }
        try Task.checkCancellation()
        try await file.finish()
      } catch {
        file.discard()
        throw error
      }
      return answer.settled()
    }
  }

  /// Loads a URL into a file; see ``download(for:to:options:progress:)``.
  @discardableResult
  public func download(
    from url: URL, to destination: URL, options: RequestOptions = RequestOptions(), progress: Progress? = nil
  ) async throws -> Answer {
    try await download(for: URLRequest(url: url), to: destination, options: options, progress: progress)
  }

  // MARK: - Cancelling

  /// Cancels all loads of this session that run, among them downloads, prefetching, and content that is still read from
  /// ``bytes(for:options:)``. They throw `URLError.cancelled`.
  ///
  /// The session stays usable: loads that begin afterwards run as ever. `URLSession.invalidateAndCancel()` in contrast ends
  /// its session. As with the cancellation of a single task, a request to the origin goes on if a load of another session
  /// waits for the same response, and so does a revalidation in the background.
  public func cancelAll() { running.cancelAll() }

  // MARK: - Helpers

  private func load(
    _ request: URLRequest, _ options: RequestOptions, file: URL? = nil, progress: Progress? = nil
  ) -> CachedLoad {
    CachedLoad(
      request: request, stream: StreamedContent(request), file: file, binding: binding, options: options,
      isIntercepted: binding.options.shouldIntercept(request), progress: progress)
  }

  /// Loads the whole answer. What the cache has in memory is returned without a suspension, on the caller's actor.
  private nonisolated(nonsending) func data(_ load: CachedLoad) async throws -> (Data, Answer) {
    try await reporting(load.url) {
      var load = load
      if let found = try load.fromMemory(), let data = Data(inMemory: found.response.body) {
        return (data, try Answer(of: found))
      }
      return try await running.run { [load] in
        var load = load
        do {
          return try await Self.whole(&load)
        } catch is StoreError {
          // Damaged stored content has been removed from the store; the caller has received no byte of it.
          return try await Self.whole(&load)
        }
      }
    }
  }

  private static func whole(_ load: inout CachedLoad) async throws -> (Data, Answer) {
    let found = try await load.answer()
    let answer = try Answer(of: found)
    return (try await found.response.body.data(), answer.settled())
  }

  /// Begins to load, and does something with the response, in a task that ``cancelAll()`` cancels.
  private func answer<Result: Sendable>(
    _ load: CachedLoad, _ work: @escaping @Sendable (CachedResponse, Answer) async throws -> Result
  ) async throws -> Result {
    try await reporting(load.url) {
      try await running.run {
        var load = load
        let found: CachedLoad.Answer
        if let stored = try load.fromMemory() { found = stored } else { found = try await load.answer() }
        return try await work(found.response, Answer(of: found))
      }
    }
  }

  private static func length(of response: CachedResponse) -> Int? {
    response.body.length ?? response.head.headerFields[.contentLength].flatMap { Int($0) }
  }

  private nonisolated(nonsending) func reporting<Result: Sendable>(
    _ url: URL?, _ work: () async throws -> Result
  ) async throws -> Result {
    do {
      return try await work()
    } catch {
      throw URLError.describing(error, of: url)
    }
  }
}

extension CachedLoad {
  /// Returns the answer if memory has it.
  ///
  /// - Throws: `URLError.unsupportedURL` unless the URL is `http` or `https`.
  fileprivate mutating func fromMemory() throws -> Answer? {
    switch url?.scheme?.lowercasedASCII {
    case "http", "https": return try answerFromMemory()
    default: throw URLError(.unsupportedURL, url, "The URL is neither http nor https.")
    }
  }
}

extension HTTPCacheSession {
  /// Called with the bytes transferred so far, and all bytes if that is known.
  public typealias Progress = @Sendable (_ byteCount: Int, _ length: Int?) -> Void

  /// A response, and how the cache came to it.
  public struct Answer: Sendable {
    /// The status and the fields. The URL is that of the last request, after all redirects.
    ///
    /// With ``HTTPCacheSession/bytes(for:options:)`` it is made before the content arrives, so its `cacheStatus` says what
    /// the cache intends; ``storage`` says what happened.
    public let response: HTTPURLResponse
    /// The URLs that redirected to it, in order.
    let redirected: [URL]
    /// The same without its content: it knows the outcome of storing when the content has been read.
    private let cached: CachedResponse

    fileprivate init(of answer: CachedLoad.Answer) throws {
      response = try answer.complete(Data()).response
      redirected = answer.redirected
      var cached = answer.response
      cached.body = .empty
      self.cached = cached
    }

    /// Returns the answer after its content has been read: its fields then say whether the response was stored in the end.
    fileprivate func settled() -> Answer {
      guard cached.knownCacheStatus != cached.cacheStatus, let url = response.url else { return self }
      return (try? Answer(of: CachedLoad.Answer(response: cached, url: url, redirected: redirected))) ?? self
    }

    /// Where the response came from.
    public var source: CachedResponse.Source { cached.source }
    /// Why the caller gets this response.
    public var reason: CacheEngine.Reason { cached.reason }
    /// Whether the origin's response was stored, and why (not); `nil` if there was nothing to store. It is final when the
    /// content has been read.
    public var storage: CacheEngine.Reason? { cached.knownStorage }
    /// The current age, rounded down to seconds, if the response comes from the store (RFC 9111 §4.2.3).
    public var age: Duration? { cached.age }
    /// The remaining freshness lifetime, in whole seconds; negative if the response is stale.
    public var remainingLifetime: Duration? {
      // A response that was not stored in the end has none.
      cached.knownCacheStatus.timeToLive
    }
  }

  /// The content of a response, byte by byte while it arrives.
  ///
  /// ```swift
  /// let (bytes, _) = try await session.bytes(for: request)
  /// for try await chunk in bytes.chunks { … }    // the fastest way
  /// ```
  ///
  /// It can be read once. What arrives faster than it is read waits in a temporary file, because Foundation on Linux cannot
  /// pause a transfer. If the content is dropped before its end, the transfer is cancelled.
  public struct Bytes: AsyncSequence, Sendable {
    public typealias Element = UInt8
    public typealias Failure = any Error

    /// The content in the pieces in which it arrives.
    public let chunks: MessageBody
    /// The length in bytes, if it is known.
    public let length: Int?

    /// Begins to read.
    public func makeAsyncIterator() -> Iterator { Iterator(chunks: chunks.makeAsyncIterator()) }

    /// Reads the content from its beginning.
    public struct Iterator: AsyncIteratorProtocol {
      private var chunks: MessageBody.Iterator
      private var chunk: ArraySlice<UInt8> = []

      fileprivate init(chunks: MessageBody.Iterator) { self.chunks = chunks }

      /// Returns the next byte, or `nil` at the end.
      ///
      /// - Throws: the error of the transport, or of the disk.
      public mutating func next() async throws -> UInt8? {
        try await next(isolation: nil)
      }

      /// Returns the next byte, or `nil` at the end. It runs on the caller's actor.
      ///
      /// - Throws: the error of the transport, or of the disk.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
        while true {
          if let byte = chunk.popFirst() { return byte }
          guard let next = try await chunks.next(isolation: actor) else { return nil }
          chunk = next
        }
      }
    }
  }
}
