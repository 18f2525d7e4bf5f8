// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if canImport(FoundationNetworking)
  import Foundation
  import SystemPackage

  /// The content of a request, from its first byte, for Foundation on Linux.
  ///
  /// Foundation reads it on the thread that receives, 16 or 64 KiB at a time, and never closes it.
  final class ContentStream: InputStream {
    private let content: UploadedContent
    private var position = 0
    /// The file, from the first read until all of it has been read.
    private var file: FileDescriptor?
    private var hasFailed = false

    init(_ content: UploadedContent) {
      self.content = content
      super.init(data: Data())
    }

    deinit { close() }

    // With the first read: a request that waits for a connection holds no descriptor.
    override func open() {}

    override func close() {
      try? file?.close()
      file = nil
    }

    override var streamStatus: Stream.Status { hasFailed ? .error : .open }
    override var hasBytesAvailable: Bool { true }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
      let count = min(maxLength, content.length - position)
      guard count > 0 else { return 0 }
      do {
        switch content {
        case .bytes(let bytes):
          let start = bytes.startIndex + position
          bytes.copyBytes(to: buffer, from: start..<start + count)
          position += count
          return count
        case .file(let path, let length):
          let open = try file ?? FileDescriptor.open(path, .readOnly, options: .closeOnExec)
          file = open
          let read = try open.read(
            fromAbsoluteOffset: Int64(position), into: .init(start: buffer, count: count))
          // The file has become shorter, and the origin would wait for the rest.
          guard read > 0 else { throw Errno.ioError }
          position += read
          if position == length { close() }
          return read
        }
      } catch {
        hasFailed = true
        close()
        return -1
      }
    }
  }
#endif
