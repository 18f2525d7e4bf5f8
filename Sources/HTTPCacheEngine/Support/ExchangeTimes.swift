// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// The times of an exchange with the origin.
///
/// Two clocks say them. The monotonic one says how long something took, and how long a response has been here. The wall
/// clock says what the origin's dates mean. It may be set forward and back at any time.
package struct ExchangeTimes: Hashable, Sendable {
  /// When the request was sent, by the monotonic clock.
  package var request: Timestamp
  /// When the response arrived, by the monotonic clock.
  package var response: Timestamp
  /// When the response arrived, by the wall clock.
  package var arrival: Timestamp
}
