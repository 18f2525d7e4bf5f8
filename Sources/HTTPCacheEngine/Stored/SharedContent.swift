// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Responses that share one content in the store (RFC 9111 §4.1).
extension StoredResponse {
  /// The most responses that share one content. There is one for each set of selecting fields that the origin chose the
  /// content for; a resource that varies on `User-Agent` has any number of them.
  static let mostSharing = 8
  /// The most bytes of all their stored forms.
  static let mostBytesSharing = 16 << 10

  /// The bytes to store for responses of one entry; `nil` for none.
  package static func encoded(_ responses: [StoredResponse]) -> [UInt8]? {
    responses.isEmpty ? nil : encoded(sharingContent: responses)
  }

  /// The bytes to store for an entry after one of its responses changed, or one was added.
  ///
  /// The changed response comes first. Those that were not validated for the longest time go where there are too many; what
  /// they were stored for takes one revalidation more.
  ///
  /// - Parameters:
  ///   - changed: in place of the one with the same selecting fields.
  ///   - old: the selecting fields that the changed response had before; `nil` for one that is added.
  ///   - responses: what the entry has so far.
  package static func encoded(
    _ changed: StoredResponse, replacing old: SelectingFields?, among responses: [StoredResponse]
  ) -> [UInt8] {
    let (key, oldKey, vary) = (changed.selecting.variantKey, old?.variantKey, changed.selecting.vary)
    var shared = [changed]
    var size = changed.encoded().count
    for response in responses where shared.count < mostSharing {
      let own = response.selecting.variantKey
      // A request matches no more than one where all vary on the same fields, and the first can be judged alone.
      guard own != key, own != oldKey, response.selecting.vary == vary else { continue }
      size += response.encoded().count
      if size > mostBytesSharing { break }
      shared.append(response)
    }
    return encoded(sharingContent: shared)
  }
}
