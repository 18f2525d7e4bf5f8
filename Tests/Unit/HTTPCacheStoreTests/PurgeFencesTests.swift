// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheStore

@Suite("Fences of sweeps", .timeLimit(.minutes(1)))
struct PurgeFencesTests {
  // An insert that takes an id behind a sweep's number, and then saw no fence, was neither refused nor swept.
  @Test("A fence is visible before its number is taken")
  func visibleBeforehand() {
    let fences = PurgeFences()
    var isVisible = false
    let number = fences.add(.keys { _ in true }) {
      isVisible = fences.isAny(since: 5)
      return 5
    }
    #expect(isVisible && number == 5)
    #expect(fences.isAny(since: 5) && !fences.isAny(since: 6))
    #expect(fences.keepsOut(StoreKey("a"), scopes: [], since: 5))
    #expect(!fences.keepsOut(StoreKey("a"), scopes: [], since: 6))
  }
}
