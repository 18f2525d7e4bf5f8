// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Logging

/// The responses to purge.
struct Purge: Hashable, Sendable {
  var selections: [HTTPCache.Selection]
  /// Whether responses become stale instead of being removed.
  var isSoft = false
  /// What is purged, for the log.
  var description: String
  /// How many requests per second load again what was purged; `nil` for none.
  var warmingRate: Double?

  /// Returns the responses in groups of some origins, or of all. A tag is a group, too, and a name may be written as an
  /// origin writes it in fields.
  static func selections(ofGroups names: [String], in origins: [TargetURI]) -> [HTTPCache.Selection] {
    let groups = names.flatMap { GroupName.possible($0) }
    if origins.isEmpty { return [.groups(inField: groups)] }
    return origins.flatMap { origin in groups.map { .group(inField: $0, of: origin) } }
  }

  /// Purges, on a thread that may wait for the disk.
  ///
  /// - Returns: the number of responses; `nil` if they were not counted. To count a group would take a pass over all that is
  ///   stored, and an application may purge one with each write.
  func run(_ context: ProxyContext) async -> Int? {
    let cache = context.cache
    let count = await BlockingExecutor.run {
      selections.reduce(0 as Int?) { sum, selection in
        let result = isSoft ? cache.expire(selection) : cache.remove(selection)
        return sum.flatMap { sum in result.count.map { sum + $0 } }
      }
    }
    var metadata: Logger.Metadata = ["what": "\(description)", "soft": "\(isSoft)"]
    metadata["responses"] = count.map { "\($0)" }
    context.logger.notice("purged", metadata: metadata)
    return count
  }

  /// Returns the requests that load again what would be purged, as far as there is room for them; `nil` if that is not wanted.
  func repeated(_ context: ProxyContext) async -> HTTPCache.StoredRequests? {
    guard warmingRate != nil else { return nil }
    var found = HTTPCache.StoredRequests(room: context.warmer.room)
    for selection in selections where !found.isFull {
      await context.cache.addRequests(of: selection, to: &found)
    }
    return found
  }

  /// Loads again what was purged.
  func load(_ found: HTTPCache.StoredRequests, _ context: ProxyContext) -> Reloading {
    let targets = found.requests.map { WarmingList.Target(url: $0.url, fields: $0.fields) }
    // Others may have taken some of the room meanwhile.
    let addition = context.warmer.add(
      targets, rate: warmingRate ?? WarmingList.usualRate, isPart: true, context)
    guard case .added(let count) = addition else {
      return Reloading(count: 0, left: found.left, isPart: true)
    }
    return Reloading(count: count, left: found.left, isPart: found.isFull || count < targets.count)
  }

  /// The requests that load again what was purged.
  struct Reloading: Hashable, Sendable {
    var count: Int
    /// Number of responses that no request leads to.
    var left: Int
    /// Whether there is no room for more, or the proxy stops.
    var isPart: Bool

    fileprivate var text: String {
      var text = count == 1 ? "1 request loads them again" : "\(count) requests load them again"
      if left > 0 {
        text +=
          "; \(left == 1 ? "1 response needs" : "\(left) responses need") more than a URL, and are not loaded"
      }
      if isPart { text += "; there is no room for the others" }
      return text + ".\n"
    }
  }

  /// Maximum time that the response to a purge waits for the other nodes of a shared tier.
  private static let confirmation = Duration.seconds(5)

  /// Waits until the other nodes of a shared tier have purged, too; `nil` without a shared tier.
  static func confirm(_ context: ProxyContext) async -> HTTPCache.RemovalReach? {
    let isShared = context.cache.sharedTierStatistics != nil
    guard isShared || context.cache.tellsRemovals else { return nil }
    let reach = await context.cache.confirmRemovals(within: confirmation)
    if reach != .everywhere {
      context.logger.warning("the purge has not reached all nodes yet", metadata: ["reach": "\(reach)"])
    }
    return isShared || reach == .here ? reach : nil
  }

  /// Returns the result of a purge as text.
  func text(
    _ count: Int?, _ reach: HTTPCache.RemovalReach? = nil, _ reloading: Reloading? = nil
  ) -> String {
    let responses = count.map { $0 == 1 ? "1 response" : "\($0) responses" } ?? "the responses"
    let result = isSoft ? "Marked \(responses) stale" : "Removed \(responses)"
    let answer =
      switch reach {
      case nil: result + ".\n"
      case .everywhere: result + " here, and all nodes of the shared tier have done the same.\n"
      case .logged: result + " here; some nodes of the shared tier have not answered yet.\n"
      case .here:
        result
          + " here only: the shared tier, or the process that has the directory, cannot be reached and is told later.\n"
      }
    return answer + (reloading?.text ?? "")
  }

  /// Returns the result of a purge as JSON.
  func json(
    _ count: Int?, _ reach: HTTPCache.RemovalReach? = nil, _ reloading: Reloading? = nil
  ) -> String {
    var members: [(name: String, value: JSONText)] = [("purged", .optional(count)), ("soft", .bool(isSoft))]
    if let reach { members.append(("reach", .string(reach.rawValue))) }
    if let reloading {
      members.append(
        (
          "reloading",
          .map([
            ("requests", .integer(reloading.count)), ("left", .integer(reloading.left)),
            ("isPart", .bool(reloading.isPart)),
          ])
        ))
    }
    return "\(JSONText.map(members))\n"
  }
}
