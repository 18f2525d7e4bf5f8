// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The data of a `CachedURLResponse` besides head and content, kept with the stored response as a property list.
struct CacheNote {
  var userInfo: [String: Any] = [:]
  var isInMemoryOnly = false

  /// Keeps the part of the `userInfo` that can be written as a property list, and drops the rest.
  init(_ response: CachedURLResponse) {
    isInMemoryOnly = response.storagePolicy == .allowedInMemoryOnly
    for (key, value) in response.userInfo ?? [:] {
      guard let key = key as? String, Self.data([key: value]) != nil else { continue }
      userInfo[key] = value
    }
  }

  init?(decoding bytes: [UInt8]) {
    guard let list = try? PropertyListSerialization.propertyList(from: Data(bytes), format: nil),
      let list = list as? [String: Any]
    else { return nil }
    userInfo = list["userInfo"] as? [String: Any] ?? [:]
    isInMemoryOnly = list["memoryOnly"] as? Bool ?? false
  }

  /// Returns the encoded note, or `nil` if it is empty.
  func encoded() -> [UInt8]? {
    if userInfo.isEmpty, !isInMemoryOnly { return nil }
    return Self.data(["userInfo": userInfo, "memoryOnly": isInMemoryOnly]).map { Array($0) }
  }

  private static func data(_ list: [String: Any]) -> Data? {
    // On Linux, writing an invalid property list ends the process.
    guard PropertyListSerialization.propertyList(list, isValidFor: .binary) else { return nil }
    return try? PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
  }
}

extension StoreTiers {
  init(_ policy: URLCache.StoragePolicy) {
    switch policy {
    case .allowed: self = .all
    case .allowedInMemoryOnly: self = .memory
    case .notAllowed: self = []
    @unknown default: self = []
    }
  }
}
