// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import HTTPCacheURLSession

@Suite("Fields that Foundation adds", .timeLimit(.minutes(10)))
struct SystemFieldsTests {
  @Test(
    "The languages of a user have falling weights",
    arguments: [
      ([], "*"), (["de-CH"], "de-CH"), (["de-CH", "en", "fr"], "de-CH, en;q=0.9, fr;q=0.8"),
      (["a", "b", "c", "d", "e", "f", "g"], "a, b;q=0.9, c;q=0.8, d;q=0.7, e;q=0.6, f;q=0.5"),
    ])
  func languages(languages: [String], field: String) {
    #expect(SystemFields.acceptLanguage(languages) == field)
  }
}
