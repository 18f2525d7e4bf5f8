import SystemPackage

/// What went wrong in a store, where, and what to do about it.
public struct StoreError: Error, Sendable, Hashable {
  /// The kinds of failure. More may be added.
  public enum Kind: Sendable, Hashable {
    /// Another store, in this process or another, has the directory open.
    case directoryInUse(path: FilePath, byProcess: Int32?)
    /// The directory was written by a version of the format that this one does not know.
    case unknownFormat(found: UInt32, supported: UInt32, path: FilePath)
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
  public var description: String {
    switch kind {
    case .directoryInUse(let path, let process):
      let holder = process.map { " by process \($0)" } ?? ""
      return "cache directory \(path) is in use\(holder): close that store first, or choose another directory"
    case .unknownFormat(let found, let supported, let path):
      return "\(path) has format version \(found), this version reads \(supported): "
        + "use the version that wrote it, or open it with startEmpty to discard its contents"
    case .io(let operation, let path, let errno):
      return "cannot \(operation) \(path): \(Errno(rawValue: errno)) (errno \(errno))"
    case .corrupt(let what, let path):
      return "\(path) is damaged: \(what); if it is the directory's format file, "
        + "open the directory with startEmpty to discard its contents"
    case .invalidConfiguration(let what):
      return "invalid store configuration: \(what)"
    case .closed:
      return "the store is closed"
    }
  }
}
