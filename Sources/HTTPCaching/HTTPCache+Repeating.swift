// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCacheStore
import HTTPTypes

extension HTTPCache {
  /// A request that selects a stored response.
  package struct StoredRequest: Hashable, Sendable {
    package var url: String
    /// The fields by which the response is selected among the variants.
    package var fields: HTTPFields
  }

  /// The requests that selected responses answer, to send them again.
  package struct StoredRequests: Sendable {
    /// Requests with GET, each once.
    package private(set) var requests: Set<StoredRequest> = []
    /// Number of responses that no such request leads to: those to QUERY, those that URLs share by `No-Vary-Search`, those in
    /// partitions that rules make, and those that secrets select, which are not kept.
    package private(set) var left = 0
    /// Whether there is no room for more.
    package private(set) var isFull = false
    private var room: (count: Int, bytes: Int)

    package init(room: (count: Int, bytes: Int)) { self.room = room }

    fileprivate mutating func add(_ url: String, _ selecting: SelectingFields) {
      guard !isFull else { return }
      guard let fields = selecting.request else { return leave() }
      let request = StoredRequest(url: url, fields: fields)
      if requests.contains(request) { return }
      let size = url.utf8.count + fields.reduce(0) { $0 + $1.value.utf8.count }
      guard requests.count < room.count, room.bytes >= size else {
        isFull = true
        return
      }
      room.bytes -= size
      requests.insert(request)
    }

    fileprivate mutating func leave() { left += 1 }
  }

  /// Adds the requests that the responses of a selection answer, as long as there is room.
  ///
  /// - Complexity: O(1) for a target in one partition; otherwise as ``storedResponses(_:)``.
  package func addRequests(of selection: Selection, to found: inout StoredRequests) async {
    let partition = configuration.partition
    let resolved = resolved(selection)
    if case .target(let target, _) = resolved.extent, resolved.place == .partition(partition),
      let selecting = await BlockingExecutor.run({ self.selecting(target, partition) })
    {
      for fields in selecting { found.add(target.text, fields) }
      return
    }
    for await response in storedResponses(selection) {
      if found.isFull { return }
      if let selecting = response.selecting, response.partition == partition {
        found.add(response.url, selecting)
      } else {
        found.leave()
      }
    }
  }

  /// Returns what selects each stored response to GET for a target; `nil` if some of its keys are unknown.
  private func selecting(_ target: TargetURI, _ partition: String) -> [SelectingFields]? {
    storeKeys(of: target, partition: partition)?.flatMap { key in
      (responses.entries(for: key, atOnce: false) ?? StoredEntries()).compactMap { entry in
        entry.metadata.withUnsafeBytes { StoredResponse(decoding: $0.bytes) }?.selecting
      }
    }
  }
}
