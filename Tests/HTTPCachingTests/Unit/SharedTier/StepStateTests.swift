// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCaching

@Suite("Being in step with the log of a shared tier", .timeLimit(.minutes(10)))
struct StepStateTests {
  struct Answer: Sendable {
    /// The position when the heartbeat was sent, and when its answer came.
    var (sent, applied): (UInt64, UInt64)
    /// The end of the log in the answer.
    var last: UInt64
    var isLoss: Bool
    var isTrusted = true
  }

  @Test(
    "An answer that records have overtaken is no loss of the log; one that lacks what was known before is",
    arguments: [
      Answer(sent: 5, applied: 5, last: 5, isLoss: false),
      Answer(sent: 5, applied: 7, last: 5, isLoss: false),
      Answer(sent: 5, applied: 7, last: 6, isLoss: false),
      Answer(sent: 5, applied: 7, last: 9, isLoss: false, isTrusted: false),
      Answer(sent: 5, applied: 5, last: 4, isLoss: true),
      Answer(sent: 5, applied: 7, last: 4, isLoss: true),
    ])
  func overtaken(answer: Answer) throws {
    func position(_ number: UInt64) -> SharedLogPosition { SharedLogPosition(epoch: 1, number: number) }
    func head(_ number: UInt64) -> SharedLogHead {
      SharedLogHead(last: position(number), first: 1, appliedByAll: 0)
    }
    var step = StepState(keeping: nil)
    _ = step.heard(head(answer.sent), since: nil, trustUntil: 10)
    for number in 1...answer.applied { step.didApply(number) }
    let action = step.heard(head(answer.last), since: position(answer.sent), trustUntil: 20)
    if case .restart = action { #expect(answer.isLoss) } else { #expect(!answer.isLoss) }
    guard !answer.isLoss else { return }
    #expect(step.applied == position(answer.applied))
    #expect(step.last == position(max(answer.applied, answer.last)))
    #expect((step.trustedUntil == 20) == answer.isTrusted)
  }
}
