import SystemPackage

/// What went wrong in a store, where, and what to do about it.
public struct StoreError: Error, Sendable, Hashable {
  /// The kinds of failure. More may be added.
  public enum Kind: Sendable, Hashable {
    /// Another store, in this process or another, has the directory open.
    case directoryInUse(path: FilePath, byProcess: Int32?)
    /// A cache is in the directory that was written in a version of the format that this one does not know.
    case unknownFormat(found: UInt32, supported: UInt32, path: FilePath)
    /// A cache is in the directory whose file `format` is damaged or missing.
    case unreadableDirectory(path: FilePath, what: String)
    /// The directory holds no cache, but other files; `file` is the name of one, and `nil` where it holds none at all.
    case notACache(path: FilePath, file: String?)
    /// An operation of the file system failed.
    case io(operation: String, path: FilePath, errno: Int32)
    /// Stored bytes are not what was written.
    case corrupt(what: String, path: FilePath)
    /// The configuration contradicts itself.
    case invalidConfiguration(String)
    /// The store is closed.
    case closed
  }

  /// What happened.
  public let kind: Kind

  init(_ kind: Kind) {
    self.kind = kind
  }

  /// The system's number of the failure, where it is one of the file system.
  var errno: Int32? {
    if case .io(_, _, let errno) = kind { errno } else { nil }
  }
}

extension StoreError: CustomStringConvertible {
  public var description: String { remedy.map { "\(problem); \($0)" } ?? problem }

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
    }
  }

  /// What to do about it, for who calls the library; `nil` where that follows from what happened.
  private var remedy: String? {
    switch kind {
    case .directoryInUse: "close that store first, or choose another directory"
    case .unknownFormat:
      "open it with the version that wrote it, set whenUnreadable to .startEmpty to discard what it holds, "
        + "or choose another directory"
    case .unreadableDirectory:
      "set whenUnreadable to .startEmpty to discard what it holds, or choose another directory"
    case .notACache: "choose the directory of a cache, or an empty one"
    case .io, .corrupt, .invalidConfiguration, .closed: nil
    }
  }
}
