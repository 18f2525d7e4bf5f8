// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import SystemPackage

/// A failure of a store: what happened, to which file, and what to do about it.
///
/// Switch over ``code``, with a `default`: more codes may be added. ``description`` is for people.
public struct StoreError: Error, Sendable, Hashable {
  /// The codes of failures.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Value: String {
      case directoryInUse, unknownFormat, unreadableDirectory, notACache, inputOutput, corrupt
      case invalidConfiguration, closed, noDisk, pinLimit, noRoom
    }

    private let value: Value

    private init(_ value: Value) { self.value = value }

    /// Another store, in this process or another process, has the directory open.
    public static var directoryInUse: Code { Code(.directoryInUse) }
    /// The directory holds a cache in a format version that this version cannot read.
    public static var unknownFormat: Code { Code(.unknownFormat) }
    /// The directory holds a cache whose file `format` is damaged or missing.
    public static var unreadableDirectory: Code { Code(.unreadableDirectory) }
    /// The directory holds other files, and no cache.
    public static var notACache: Code { Code(.notACache) }
    /// A system call failed; ``StoreError/errno`` is its error number.
    public static var inputOutput: Code { Code(.inputOutput) }
    /// Stored bytes differ from the bytes that were written.
    public static var corrupt: Code { Code(.corrupt) }
    /// A value of the configuration is out of range, or contradicts another.
    public static var invalidConfiguration: Code { Code(.invalidConfiguration) }
    /// The store is closed.
    public static var closed: Code { Code(.closed) }
    /// The operation needs a disk, and the store has none.
    public static var noDisk: Code { Code(.noDisk) }
    /// The pinned entries would take more of the disk than ``CacheStore/Configuration/pinnedShare``, or there would be
    /// too many pinned keys.
    public static var pinLimit: Code { Code(.pinLimit) }
    /// Entries that are being written fill the disk at this moment.
    public static var noRoom: Code { Code(.noRoom) }

    public var description: String { value.rawValue }
  }

  /// A failure with its details, for this package.
  package enum Kind: Sendable, Hashable {
    case directoryInUse(path: FilePath, byProcess: Int32?)
    case unknownFormat(found: UInt32, supported: UInt32, path: FilePath)
    case unreadableDirectory(path: FilePath, what: String)
    /// `file` is the name of a file in the directory; `nil` if the directory is empty.
    case notACache(path: FilePath, file: String?)
    case io(operation: String, path: FilePath, errno: Int32)
    case corrupt(what: String, path: FilePath)
    case invalidConfiguration(String)
    case closed
    case noDisk
    /// All in bytes.
    case pinLimit(key: StoreKey, needed: Int, used: Int, limit: Int)
    /// `limit` is in bytes.
    case tooManyPins(key: StoreKey, count: Int, limit: Int)
    case noRoomToPin(key: StoreKey)
  }

  package let kind: Kind

  package init(_ kind: Kind) {
    self.kind = kind
  }

  /// What happened.
  public var code: Code {
    switch kind {
    case .directoryInUse: .directoryInUse
    case .unknownFormat: .unknownFormat
    case .unreadableDirectory: .unreadableDirectory
    case .notACache: .notACache
    case .io: .inputOutput
    case .corrupt: .corrupt
    case .invalidConfiguration: .invalidConfiguration
    case .closed: .closed
    case .noDisk: .noDisk
    case .pinLimit, .tooManyPins: .pinLimit
    case .noRoomToPin: .noRoom
    }
  }

  /// The directory or file that the failure concerns; `nil` if it concerns none.
  public var path: FilePath? {
    switch kind {
    case .directoryInUse(let path, _), .unknownFormat(_, _, let path), .unreadableDirectory(let path, _),
      .notACache(let path, _), .io(_, let path, _), .corrupt(_, let path):
      path
    case .invalidConfiguration, .closed, .noDisk, .pinLimit, .tooManyPins, .noRoomToPin: nil
    }
  }

  /// The error number of the failed system call; `nil` for codes other than ``Code/inputOutput``.
  public var errno: Int32? {
    if case .io(_, _, let errno) = kind { errno } else { nil }
  }

  /// The process that has the directory open, if known; `nil` for codes other than ``Code/directoryInUse``.
  public var processID: Int32? {
    if case .directoryInUse(_, let process) = kind { process } else { nil }
  }
}

extension StoreError: CustomStringConvertible {
  public var description: String { remedy.map { "\(problem); \($0)" } ?? problem }

  /// Whether an earlier version of the format wrote the directory. The store then discards its cache, whatever
  /// ``UnreadableDirectory`` says, because an update must not keep a program from starting.
  var isOlderFormat: Bool {
    if case .unknownFormat(let found, let supported, _) = kind { found < supported } else { false }
  }

  /// What happened, and to what.
  package var problem: String {
    switch kind {
    case .directoryInUse(let path, let process):
      let holder = process.map { " by process \($0)" } ?? ""
      return "cache directory \(path) is in use\(holder)"
    case .unknownFormat(let found, let supported, let path):
      return "cache directory \(path) has format version \(found), and this version reads \(supported)"
    case .unreadableDirectory(let path, let what):
      return "cannot read cache directory \(path): \(what)"
    case .notACache(let path, let file):
      return "\(path) is not a cache directory: it " + (file.map { "holds '\($0)'" } ?? "is empty")
    case .io(let operation, let path, let errno):
      return "cannot \(operation) \(path): \(Errno(rawValue: errno)) (errno \(errno))"
    case .corrupt(let what, let path):
      return "\(path) is damaged: \(what)"
    case .invalidConfiguration(let what):
      return "invalid store configuration: \(what)"
    case .closed:
      return "the store is closed"
    case .noDisk:
      return "the store has no disk, and pins need one"
    case .pinLimit(let key, let needed, let used, let limit):
      return
        "cannot pin \(key): its entries take \(needed) bytes, pinned entries take \(used) bytes already, and "
        + "the limit is \(limit)"
    case .tooManyPins(let key, let count, let limit):
      return "cannot pin \(key): the list of the \(count) pinned keys would have more than \(limit) bytes"
    case .noRoomToPin(let key):
      return "cannot pin \(key): entries that are being written fill the disk"
    }
  }

  /// What the caller of the library can do about it; `nil` if the problem already tells.
  private var remedy: String? {
    switch kind {
    case .directoryInUse(_, let process):
      process.map { $0 != POSIXFileSystem.currentProcess } ?? false
        ? "stop that process, or choose another directory"
        : "close the other store of this process first, or choose another directory"
    case .unknownFormat:
      "open it with the version that wrote it, set whenUnreadable to .startEmpty to discard its content, "
        + "or choose another directory"
    case .unreadableDirectory:
      "set whenUnreadable to .startEmpty to discard its content, or choose another directory"
    case .notACache: "choose the directory of a cache, or an empty one"
    case .noDisk: "open it with a directory and a disk capacity"
    case .pinLimit: "unpin other keys, or increase diskCapacity or pinnedShare"
    case .tooManyPins: "unpin other keys, or increase diskCapacity"
    case .noRoomToPin: "pin it again when they are complete"
    case .io, .corrupt, .invalidConfiguration, .closed: nil
    }
  }
}
