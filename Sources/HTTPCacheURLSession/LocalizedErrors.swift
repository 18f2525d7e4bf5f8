// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCaching

// So that `localizedDescription` is their text: the modules that they belong to do without Foundation.

extension StoreError: LocalizedError {
  public var errorDescription: String? { description }
}

extension HTTPCacheError: LocalizedError {
  public var errorDescription: String? { description }
}
