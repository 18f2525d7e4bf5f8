// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import HTTPCaching
import SystemPackage

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The content of a request to an origin.
enum OutgoingContent: Sendable {
  case bytes(Data)
  /// A file, and its length in bytes when the request was made.
  case file(FilePath, length: Int)

  /// Makes the content of a file.
  ///
  /// - Throws: `URLError.cannotOpenFile` unless it is a regular file: the length of any other is unknown.
  init(file path: FilePath) async throws {
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
