// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

extension Duration {
  /// The duration for an event loop, clamped to zero and ten years, so that no deadline overflows.
  var timeAmount: TimeAmount {
    TimeAmount(Swift.min(Swift.max(self, .zero), .seconds(315_360_000)))
  }
}
