// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching

/// Real time.
struct LiveClock: ScenarioClock {
  var now: Timestamp { SystemCacheClock.shared.now }

  func pass(seconds: Int64) async {
    guard seconds > 0 else { return }
    try? await Task.sleep(for: .seconds(seconds))
  }

  func wait(until time: Timestamp) async {
    let left = time.milliseconds - now.milliseconds
    if left > 0 { try? await Task.sleep(for: .milliseconds(left)) }
  }
}
