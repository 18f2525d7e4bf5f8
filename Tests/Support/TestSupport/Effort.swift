// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

/// Whether `HTTPCACHE_TEST_EFFORT` is `long`, as `make test-long` sets it.
private let isLong = ProcessInfo.processInfo.environment["HTTPCACHE_TEST_EFFORT"] == "long"

/// Returns how much a test of random or exhaustive inputs does: the usual amount, or the larger one of `make test-long`.
package func usually<Amount>(_ usual: Amount, long: Amount) -> Amount { isLong ? long : usual }
