// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCacheStore
import HTTPCacheURLSession
import Testing

@Suite("Localized error descriptions", .timeLimit(.minutes(10)))
struct LocalizedErrorTests {
  @Test(
    "The localized description of an error is its own text",
    arguments: [
      HTTPCacheError.notCached(.policyForbidsNetwork), HTTPCacheError.contentTooLarge(limit: 4),
      HTTPCacheError.incompleteContent, HTTPCacheError.bodyAlreadyRead, StoreError(.closed),
      StoreError(.io(operation: "open", path: "/a/b", errno: 13)),
    ] as [any Error])
  func texts(error: any Error) {
    #expect(error.localizedDescription == "\(error)")
  }

  @Test("A store that cannot be opened throws an error with a localized description")
  func opening() throws {
    let error = try #require(throws: StoreError.self) {
      _ = try HTTPCache(.init(directory: URL(fileURLWithPath: "/dev/null/directory")))
    }
    #expect(error.code == .inputOutput && error.path != nil && error.errno != nil)
    #expect(error.localizedDescription.hasPrefix("cannot "))
  }
}
