// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

@_exported import HTTPCacheArchives

extension HTTPStubs {
  /// Answers requests with the responses of an archive: each for exactly its method and URL.
  public func replay(_ responses: [ArchivedResponse]) {
    for response in responses {
      on(response.request.method, .exactly(response.url)) { _ in
        var answer = StubAnswer.bytes(
          try response.body(), status: response.head.status.code, fields: response.head.headerFields)
        answer.fields = response.head.headerFields
        return answer
      }
    }
  }
}
