// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCaching
import Logging

/// The responses to purge.
struct Purge: Sendable {
  enum Extent: Sendable {
    /// Responses stored for targets, and for the targets that match patterns.
    case targets([TargetURI], [TargetPattern])
    /// Responses in groups of the targets' origins, as the groups are named in fields.
    case groups([String], of: [TargetURI])
    case everything
  }

  var extent: Extent
  /// Whether responses become stale instead of being removed.
  var isSoft = false

  /// Purges, on a thread that may wait for the disk.
  ///
  /// - Returns: the number of responses; `nil` if they were not counted.
  func run(_ context: ProxyContext) async -> Int? {
    let cache = context.cache
    let count = await BlockingExecutor.run { purge(cache) }
    var metadata: Logger.Metadata = ["what": "\(self)", "soft": "\(isSoft)"]
    metadata["responses"] = count.map { "\($0)" }
    context.logger.notice("purged", metadata: metadata)
    return count
  }

  private func purge(_ cache: HTTPCache) -> Int? {
    switch extent {
    case .everything: return isSoft ? cache.expireAllResponses() : cache.removeAllResponses()
    case .groups(let groups, let targets) where isSoft:
      return groups.reduce(0) { sum, group in
        targets.reduce(sum) { sum, target in sum + cache.expireGroup(inField: group, of: target) }
      }
    case .groups(let groups, let targets):
      // To count them would take a pass over all that is stored. An application may purge a group with each write.
      for group in groups {
        for target in targets { cache.invalidateGroup(inField: group, of: target) }
      }
      return nil
    case .targets(let targets, let patterns):
      let count = targets.reduce(0) { sum, target in
        let request = target.request
        return sum + (isSoft ? cache.expireResponses(for: request) : cache.removeResponses(for: request))
      }
      return count
        + (isSoft ? cache.expireResponses(matching: patterns) : cache.removeResponses(matching: patterns))
    }
  }

  /// Maximum time that the response to a purge waits for the other nodes of a shared tier.
  private static let confirmation = Duration.seconds(5)

  /// Waits until the other nodes of a shared tier have purged, too; `nil` without a shared tier.
  static func confirm(_ context: ProxyContext) async -> HTTPCache.RemovalReach? {
    guard context.cache.sharedTierStatistics != nil else { return nil }
    let reach = await context.cache.confirmRemovals(within: confirmation)
    if reach != .everywhere {
      context.logger.warning("the purge has not reached all nodes yet", metadata: ["reach": "\(reach)"])
    }
    return reach
  }

  /// Returns the result of a purge as text.
  func text(_ count: Int?, _ reach: HTTPCache.RemovalReach? = nil) -> String {
    let responses = count.map { $0 == 1 ? "1 response" : "\($0) responses" } ?? "the responses"
    let result = isSoft ? "Marked \(responses) stale" : "Removed \(responses)"
    return switch reach {
    case nil: result + ".\n"
    case .everywhere: result + " here, and all nodes of the shared tier have done the same.\n"
    case .logged: result + " here; some nodes of the shared tier have not answered yet.\n"
    case .here: result + " here; the shared tier is unavailable and is told later.\n"
    }
  }

  /// Returns the result of a purge as JSON.
  func json(_ count: Int?, _ reach: HTTPCache.RemovalReach? = nil) -> String {
    "{\"purged\":\(count.map { "\($0)" } ?? "null"),\"soft\":\(isSoft)\(reach.map { ",\"reach\":\"\($0.rawValue)\"" } ?? "")}\n"
  }
}

extension TargetURI {
  /// A request for the target.
  var request: HTTPRequest {
    HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
  }
}

extension Purge: CustomStringConvertible {
  var description: String {
    switch extent {
    case .everything: return "everything"
    case .groups(let groups, let targets):
      return "groups \(groups.joined(separator: ", ")) of \(targets.map(\.text).joined(separator: ", "))"
    case .targets(let targets, let patterns):
      let all = targets.map(\.text) + patterns.map(\.description)
      let rest = all.count > 10 ? " and \(all.count - 10) more" : ""
      return all.prefix(10).joined(separator: ", ") + rest
    }
  }
}
