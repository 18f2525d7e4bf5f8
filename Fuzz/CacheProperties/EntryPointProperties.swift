// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import HTTPCacheEngine
import HTTPTypes

/// What must hold of both entry points of the engine, over a series of requests for one URI.
package enum EntryPointProperties {
  static func entryPoints(_ bytes: [UInt8]) throws {
    _ = try servings(bytes)
  }

  /// - Returns: how many requests were answered without the origin.
  package static func servings(_ bytes: [UInt8]) throws -> Int {
    var numbers = InputNumbers(bytes)
    let choices = numbers.byte()
    var model = ModelCache(
      CacheEngine.Configuration(
        kind: choices & 1 == 0 ? .private : .shared,
        whenDisconnected: choices & 2 != 0 ? .unlessForbidden : .nothing,
        clearsSiteData: choices & 64 == 0 ? nil : true,
        targets: choices & 4 == 0 ? [] : ["cdn-cache-control"], negotiatesLanguage: choices & 8 != 0))
    let scheme = choices & 16 == 0 ? "http" : "https"
    model.originHasRanges = choices & 32 != 0
    for _ in 0..<6 where !numbers.isAtEnd {
      let policy =
        numbers.byte() < 200
        ? RequestCachePolicy.useProtocolCachePolicy : numbers.pick(RequestCachePolicy.allCases)
      var request = numbers.request()
      request.scheme = scheme
      let cut = numbers.byte()
      model.endsEarlyAt = cut < 200 ? 0 : Int64(cut - 199) % 12
      let result: CacheEngine.Exchange.Result = numbers.byte() < 24 ? .failure : .response(numbers.response())
      try model.exchange(request, policy: policy, result)
      // The clock mostly goes on a little, and may go back.
      let time = numbers.byte()
      let (step, overflow) =
        time < 200
        ? (Int64(time / 4), false) : numbers.seconds().multipliedReportingOverflow(by: time < 245 ? 1 : -1)
      if !overflow { model.now = model.now.advanced(bySeconds: step) }
    }
    return model.servings
  }
}
