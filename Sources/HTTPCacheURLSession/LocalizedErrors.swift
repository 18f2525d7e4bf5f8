// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCaching

// Makes their texts the `localizedDescription`: the modules that define the errors do not import Foundation.

extension StoreError: LocalizedError {
  public var errorDescription: String? { description }
}

extension HTTPCacheError: LocalizedError {
  public var errorDescription: String? { description }
}
