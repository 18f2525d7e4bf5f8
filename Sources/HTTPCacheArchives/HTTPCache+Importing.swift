// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching

/// The result of importing an archive.
public struct ImportReport: Sendable {
  /// The URLs of the responses that were stored.
  public var stored: [String] = []
  /// The responses that were not stored, and why.
  public var notStored: [(name: String, url: String, reason: CacheEngine.Reason)] = []
}

extension HTTPCache {
  /// Stores the responses of an archive, as if they had just come from their origins: by the rules, and with their own
  /// lifetimes.
  ///
  /// ```swift
  /// try await cache.store(ResponseFolder("Fixtures").responses())
  /// try await cache.store(HARFile(path: "session.har").responses, freshFor: .seconds(86_400))
  /// ```
  ///
  /// Afterwards `returnCacheDataDontLoad` answers with them whatever their age, without a server. Responses to methods
  /// that are not cached, such as POST, are not stored.
  ///
  /// - Parameters:
  ///   - responses: the responses of an archive.
  ///   - lifetime: how long they are fresh from now on, whatever their own fields say. These fields are then removed:
  ///     `Cache-Control`, so that responses with `no-store` are stored, too; `Expires`, `Age`, `Date` and `Pragma`; and
  ///     `Vary`, so that they answer every request. Use it only for responses that you are allowed to keep.
  ///   - partition: the partition to store in (default: the configuration's).
  /// - Throws: ``ArchiveError`` if a content is unreadable.
  @discardableResult
  public func store(
    _ responses: [ArchivedResponse], freshFor lifetime: Duration? = nil, partition: String? = nil
  ) async throws -> ImportReport {
    var report = ImportReport()
    for response in responses {
      if let reason = try await store(response, freshFor: lifetime, partition: partition) {
        report.notStored.append((response.name, response.url, reason))
      } else {
        report.stored.append(response.url)
      }
    }
    return report
  }

  /// - Returns: why it is not stored; `nil` if it is.
  private func store(
    _ response: ArchivedResponse, freshFor lifetime: Duration?, partition: String?
  ) async throws -> CacheEngine.Reason? {
    var (request, head) = (response.request, response.head)
    // The request's caching directives and conditions no longer apply: the response exists.
    request.headerFields = request.headerFields.removing([
      "cache-control", "pragma", "if-none-match", "if-modified-since", "if-match", "if-unmodified-since",
      "if-range", "range",
    ])
    if let lifetime {
      head.headerFields = head.headerFields.removing([
        "cache-control", "expires", "age", "date", "pragma", "vary",
      ])
      head.headerFields[.cacheControl] = "max-age=\(Swift.max(0, lifetime.components.seconds))"
    }
    let bytes = try response.body()
    head.headerFields[.contentLength] = String(bytes.count)
    let stored = head
    let answer = try await respond(
      to: request, policy: .reloadIgnoringLocalCacheData, partition: partition
    ) { _, _ in TransportResponse(head: stored, body: MessageBody(bytes)) }
    for try await _ in answer.body {}
    guard let reason = answer.intent, answer.cacheStatus.isStored else {
      return answer.intent ?? .methodNotStored
    }
    // Comes last, because the store itself refuses only at the end.
    do {
      _ = try await respond(
        to: request, policy: .returnCacheDataDontLoad, partition: partition,
        transport: { _, _ in throw HTTPCacheError.notCached(reason) })
      return nil
    } catch let error as HTTPCacheError where error.code == .notCached {
      let settled = await answer.outcome.storage ?? reason
      return settled == reason && reason != .storedNeverReused ? .storeFailed : settled
    }
  }
}
