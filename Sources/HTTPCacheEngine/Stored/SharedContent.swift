// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Responses that share one content in the store (RFC 9111 §4.1).
extension StoredResponse {
  /// Maximum number of responses that share one content. There is one for each set of selecting fields that the origin
  /// chose the content for. A resource that varies on `User-Agent` has any number of them.
  package static let mostSharing = 8
  /// Maximum bytes of all their stored forms.
  static let mostBytesSharing = 16 << 10

  /// Returns the bytes to store for the responses of one entry; `nil` if there are none.
  package static func encoded(_ responses: [StoredResponse]) -> [UInt8]? {
    responses.isEmpty ? nil : encoded(sharingContent: responses)
  }

  /// Returns the bytes to store for an entry after one of its responses changed, or one was added.
  ///
  /// The changed response comes first. If there are too many, those without a revalidation for the longest time are
  /// dropped. A later request for those needs one more revalidation.
  ///
  /// - Parameters:
  ///   - changed: replaces the response with the same selecting fields.
  ///   - old: the selecting fields that the changed response had before; `nil` if it is added.
  ///   - responses: the present responses of the entry.
  package static func encoded(
    _ changed: StoredResponse, replacing old: SelectingFields?, among responses: [StoredResponse]
  ) -> [UInt8] {
    let (key, oldKey, vary) = (changed.selecting.variantKey, old?.variantKey, changed.selecting.vary)
    var shared = [changed]
    var size = changed.encoded().count
    for response in responses where shared.count < mostSharing {
      let own = response.selecting.variantKey
      // If all vary on the same fields, a request matches at most one, and the first can be checked alone.
      guard own != key, own != oldKey, response.selecting.vary == vary else { continue }
      size += response.encoded().count
      if size > mostBytesSharing { break }
      shared.append(response)
    }
    return encoded(sharingContent: shared)
  }
}
