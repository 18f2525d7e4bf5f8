// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import NIOCore

extension Duration {
  /// The duration for an event loop, between zero and ten years: a deadline that it is added to does not overflow.
  var timeAmount: TimeAmount {
    TimeAmount(Swift.min(Swift.max(self, .zero), .seconds(315_360_000)))
  }
}
