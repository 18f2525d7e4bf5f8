// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import Testing

@Suite(.timeLimit(.minutes(10)))
struct TargetRuleTests {
  private func applied(_ rule: TargetRule, _ path: String) -> String {
    rule(TargetURI(scheme: "https", authority: "a.example", path: path)).path
  }

  @Test(
    "Query parameters are dropped by name or prefix, and the rest is unchanged",
    arguments: [
      ("/p?a=1&b=2", "/p?b=2"), ("/p?a=1", "/p"), ("/p?A=1", "/p?A=1"), ("/p?b", "/p?b"), ("/p", "/p"),
      ("/p?", "/p?"), ("/p?x_1=1&x_=2&x=3", "/p?x=3"), ("/p?b=%61&a", "/p?b=%61"),
      ("/p?b=a=1&&a=2", "/p?b=a=1&"),
      ("/a?q=/a?a=1", "/a?q=/a?a=1"), ("/p?a=1&\u{301}b=2", "/p?\u{301}b=2"),
      // Some origins split at semicolons, too.
      ("/p?a=1;b=2", "/p?a=1;b=2"),
    ])
  func dropping(path: String, expected: String) {
    #expect(applied(.droppingParameters(["a", "x_*"]), path) == expected)
  }

  @Test(
    "All parameters but some are dropped, unless an origin may take one for those",
    arguments: [
      ("/p?page=2&b=1", "/p?page=2"), ("/p?b&q_1=2", "/p?q_1=2"), ("/p?b=2", "/p"),
      ("/p?p%61ge=2", "/p?p%61ge=2"), ("/p?page[]=2", "/p?page[]=2"), ("/p?+page=2", "/p?+page=2"),
      ("/p?x=1;page=2", "/p?x=1;page=2"),
    ])
  func keeping(path: String, expected: String) {
    #expect(applied(.keepingParameters(["page", "q_*"]), path) == expected)
  }

  @Test(
    "Query parameters are sorted by name, and those of one name keep their order",
    arguments: [
      ("/p?b=1&a=2", "/p?a=2&b=1"), ("/p?a=2&a=1", "/p?a=2&a=1"), ("/p?ab=1&a=2", "/p?a=2&ab=1"),
      ("/p?b&a", "/p?a&b"),
      ("/p", "/p"),
    ])
  func sorting(path: String, expected: String) {
    #expect(applied(.sortingParameters, path) == expected)
    #expect(applied(.sortingParameters, expected) == expected)
  }

  @Test("Chained target rules apply in order")
  func chain() {
    #expect(
      applied(.droppingTrackingParameters.then(.sortingParameters), "/?utm_source=x&b=1&a=2&gclid=3")
        == "/?a=2&b=1")
    #expect(applied(TargetRule.ignoringQuery.then(.sortingParameters), "/x?b&a") == "/x")
  }
}
