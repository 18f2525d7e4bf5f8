// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Finds the content of a request, wherever Foundation keeps it.
package enum TaskBody {
  /// Returns the request with its content in `httpBody`, if the content is in the task only.
  ///
  /// Darwin puts the data of an upload task into the request. Foundation on Linux keeps it in the task, hidden from a
  /// protocol, and a protocol cannot deliver a download's file.
  ///
  /// - Throws: `URLError` if the task would send the wrong content, or lose the response's.
  package static func request(_ request: URLRequest, of task: URLSessionTask?) throws -> URLRequest {
    #if canImport(FoundationNetworking)
      if task is URLSessionDownloadTask {
        throw URLError(
          .unsupportedURL, request.url,
          "On Linux, Foundation loses the content that a URLProtocol loads for a download task. Use a data task, or "
            + "HTTPCacheSession.download(for:to:).")
      }
      guard let task = task as? URLSessionUploadTask, request.httpBody == nil, request.httpBodyStream == nil
      else { return request }
      var request = request
      request.httpBody = try FoundationInternals.content(of: task)
      if request.httpBody == nil {
        throw URLError(
          .requestBodyStreamExhausted, request.url,
          "The content of the upload task cannot be read. Set the request's httpBody.")
      }
      return request
    #else
      return request
    #endif
  }
}
