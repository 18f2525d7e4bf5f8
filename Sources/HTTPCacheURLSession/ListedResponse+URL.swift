// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching

extension HTTPCache.ListedResponse {
  /// The target's URL as Foundation has it; `nil` if Foundation cannot read it.
  public var targetURL: URL? { URL(string: url) }

  /// The time when it was stored or last validated.
  public var storedDate: Date {
    Date(timeIntervalSince1970: Double(storedAt.millisecondsSince1970) / 1000)
  }
}
