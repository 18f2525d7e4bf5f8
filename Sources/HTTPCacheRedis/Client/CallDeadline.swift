// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPCaching

/// The end of the time limit of a call, which all its round trips share.
struct CallDeadline: Sendable {
  private let clock: any CacheClock
  private let end: Timestamp

  init(in limit: Duration, on clock: any CacheClock) {
    self.clock = clock
    end = clock.now.advanced(by: limit)
  }

  /// The rest of the time; zero when it is over.
  var rest: Duration { .milliseconds(max(0, end.millisecondsSince(clock.now))) }

  var isOver: Bool { rest == .zero }
}
