// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

/// Foundation on Linux ends the process when a cancellation meets the end of a task, or a redirect, at the wrong moment.
@Suite("Cancellation at every moment", .timeLimit(.minutes(10)))
struct CancellationTests {
  /// More rounds run in ``LongCancellationTests``.
  @Test(
    "A cancelled load ends once and affects no other load",
    arguments: CancellationLoad.Kind.allCases, CancellationLoad.Form.allCases)
  func cancelled(_ kind: CancellationLoad.Kind, _ form: CancellationLoad.Form) async throws {
    #expect(try await CancellationLoad.run(kind, form, rounds: 8) == [])
  }
}
