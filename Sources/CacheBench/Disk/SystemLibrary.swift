import Foundation

/// A library of the system's, loaded when it is needed: neither its header nor its library has to be there to build.
struct SystemLibrary: @unchecked Sendable {
  // Unchecked: what `dlopen` gives may be used from any thread.
  private let handle: UnsafeMutableRawPointer

  /// - Parameter names: files, of which the first that is there is taken; `nil` where none is.
  init?(_ names: [String]) {
    guard let handle = names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first else { return nil }
    self.handle = handle
  }

  /// The function of a name, as what its caller says that it is.
  func function<Function>(_ name: String, _: Function.Type = Function.self) -> Function? {
    dlsym(handle, name).map { unsafeBitCast($0, to: Function.self) }
  }
}
