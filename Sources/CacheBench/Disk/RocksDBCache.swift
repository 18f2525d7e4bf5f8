import HTTPCacheStore
import Synchronization

/// RocksDB as it comes, without compression: with a write-ahead log, and never synced.
final class RocksDBCache: BenchCache {
  private struct State: @unchecked Sendable {
    // Unchecked: used under the lock alone.
    var database: OpaquePointer?
    var options: OpaquePointer?
    var reading: OpaquePointer?
    var writing: OpaquePointer?
  }

  private let data: DiskData
  private let library: RocksDBLibrary
  private let state: Mutex<State>

  init(_ data: DiskData, _ library: RocksDBLibrary, directory: String) throws {
    self.data = data
    self.library = library
    var state = State()
    state.options = library.make("rocksdb_options_create")
    state.reading = library.make("rocksdb_readoptions_create")
    state.writing = library.make("rocksdb_writeoptions_create")
    library.createIfMissing(state.options, 1)
    library.setCompression(state.options, 0)
    var error: UnsafeMutablePointer<CChar>?
    state.database = library.open(state.options, directory, &error)
    if let error {
      defer { library.free(error) }
      throw BenchError.unprepared("RocksDB cannot open a directory: \(String(cString: error))")
    }
    self.state = Mutex(state)
  }

  func warm(_ key: Int) { data.touch(key) }

  func close() {
    state.withLock { state in
      library.close(state.database)
      library.destroy("rocksdb_readoptions_destroy", state.reading)
      library.destroy("rocksdb_writeoptions_destroy", state.writing)
      library.destroy("rocksdb_options_destroy", state.options)
      state = State()
    }
  }

  func operation(_ action: Action) -> (@Sendable (Int) -> Bool)? {
    data.operation(action, put: { self.put($0) }, get: { self.get($0) })
  }

  private func put(_ key: Int) -> Bool {
    let (keyBytes, value) = (data.keys[key].bytes, data.head + data.body(key))
    return state.withLock { state in
      var error: UnsafeMutablePointer<CChar>?
      keyBytes.withUnsafeBytes { keyBytes in
        value.withUnsafeBytes { value in
          library.put(
            state.database, state.writing, keyBytes.baseAddress, keyBytes.count, value.baseAddress,
            value.count,
            &error)
        }
      }
      if let error { library.free(error) }
      return error == nil
    }
  }

  private func get(_ key: Int) -> Int? {
    let (keyBytes, headCount) = (data.keys[key].bytes, data.head.count)
    return state.withLock { state -> Int? in
      var error: UnsafeMutablePointer<CChar>?
      var count = 0
      let value = keyBytes.withUnsafeBytes { keyBytes in
        library.get(state.database, state.reading, keyBytes.baseAddress, keyBytes.count, &count, &error)
      }
      if let error { library.free(error) }
      // It is a copy already.
      guard let value else { return nil }
      library.free(value)
      return count - headCount
    }
  }
}

/// The few functions of RocksDB's interface to C.
struct RocksDBLibrary: Sendable {
  typealias Bytes = UnsafeRawPointer
  typealias Failure = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

  private let library: SystemLibrary
  let createIfMissing: @convention(c) (OpaquePointer?, UInt8) -> Void
  let setCompression: @convention(c) (OpaquePointer?, Int32) -> Void
  let open: @convention(c) (OpaquePointer?, UnsafePointer<CChar>, Failure) -> OpaquePointer?
  let close: @convention(c) (OpaquePointer?) -> Void
  let put: @convention(c) (OpaquePointer?, OpaquePointer?, Bytes?, Int, Bytes?, Int, Failure) -> Void
  let get:
    @convention(c) (OpaquePointer?, OpaquePointer?, Bytes?, Int, UnsafeMutablePointer<Int>, Failure) ->
      UnsafeMutableRawPointer?
  let free: @convention(c) (UnsafeMutableRawPointer?) -> Void

  /// `nil` where it is not installed.
  static let shared: RocksDBLibrary? = RocksDBLibrary()

  private init?() {
    #if canImport(Darwin)
      let names = ["librocksdb.dylib", "/opt/homebrew/lib/librocksdb.dylib"]
    #else
      // The file's name has the version in it; what the development package links has not.
      let names =
        ["librocksdb.so"] + (6...10).flatMap { major in (0...29).map { "librocksdb.so.\(major).\($0)" } }
    #endif
    guard let library = SystemLibrary(names),
      let createIfMissing: @convention(c) (OpaquePointer?, UInt8) -> Void =
        library.function("rocksdb_options_set_create_if_missing"),
      let setCompression: @convention(c) (OpaquePointer?, Int32) -> Void =
        library.function("rocksdb_options_set_compression"),
      let open: @convention(c) (OpaquePointer?, UnsafePointer<CChar>, Failure) -> OpaquePointer? =
        library.function("rocksdb_open"),
      let close: @convention(c) (OpaquePointer?) -> Void = library.function("rocksdb_close"),
      let put: @convention(c) (OpaquePointer?, OpaquePointer?, Bytes?, Int, Bytes?, Int, Failure) -> Void =
        library.function("rocksdb_put"),
      let get:
        @convention(c) (OpaquePointer?, OpaquePointer?, Bytes?, Int, UnsafeMutablePointer<Int>, Failure) ->
          UnsafeMutableRawPointer? = library.function("rocksdb_get"),
      let free: @convention(c) (UnsafeMutableRawPointer?) -> Void = library.function("rocksdb_free")
    else { return nil }
    self.library = library
    (self.createIfMissing, self.setCompression) = (createIfMissing, setCompression)
    (self.open, self.close, self.put, self.get, self.free) = (open, close, put, get, free)
  }

  /// Calls what makes something without being told more.
  func make(_ name: String) -> OpaquePointer? {
    let function: (@convention(c) () -> OpaquePointer?)? = library.function(name)
    return function?()
  }

  func destroy(_ name: String, _ object: OpaquePointer?) {
    let function: (@convention(c) (OpaquePointer?) -> Void)? = library.function(name)
    function?(object)
  }
}
