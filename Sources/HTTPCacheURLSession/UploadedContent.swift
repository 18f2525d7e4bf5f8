// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import SystemPackage

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The content of a request to an origin.
enum UploadedContent: Sendable {
  case bytes(Data)
  /// A file, and its length in bytes when the request was made.
  case file(FilePath, length: Int)

  /// Makes the content of a body; `nil` if it is empty.
  ///
  /// - Throws: `URLError.cannotOpenFile` if it is of a file that is not regular: its length is unknown.
  init?(_ body: MessageBody) async throws {
    guard let file = body.stream as? FileContent else {
      let bytes = try await body.collect(upTo: .max)
      if bytes.isEmpty { return nil }
      self = .bytes(Data(bytes))
      return
    }
    let path = file.path
    let length = await BlockingExecutor.run { () -> Int? in
      var properties = stat()
      guard stat(path.string, &properties) == 0, properties.st_mode & S_IFMT == S_IFREG else { return nil }
      return Int(properties.st_size)
    }
    guard let length else {
      throw URLError(
        .cannotOpenFile, URL(fileURLWithPath: path.string), "The content of the upload is no file: \(path)")
    }
    self = .file(path, length: length)
  }

  /// The length, in bytes.
  var length: Int {
    switch self {
    case .bytes(let bytes): bytes.count
    case .file(_, let length): length
    }
  }
}
