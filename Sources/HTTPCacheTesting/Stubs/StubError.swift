import HTTPCaching

/// What is wrong with stubs, or with how they were used.
public enum StubError: Error, Hashable, Sendable {
  /// A request that no stub answers, and the stubs that there are.
  case unexpected(request: String, stubs: [String])
  /// Stubs that no request asked for.
  case unused([String])
  case unreadableFile(String)
  case invalidStatus(Int)
}

extension StubError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unexpected(let request, let stubs):
      "no stub answers \(request); there are "
        + (stubs.isEmpty ? "none" : stubs.joined(separator: ", "))
    case .unused(let stubs): "nothing asked for \(stubs.joined(separator: ", "))"
    case .unreadableFile(let path): "the stub's file \(path) cannot be read"
    case .invalidStatus(let status): "\(status) is no status code: they have three digits"
    }
  }
}
