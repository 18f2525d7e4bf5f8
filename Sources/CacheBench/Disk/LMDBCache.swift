import HTTPCacheStore
import Synchronization

/// LMDB, in transactions of 64 puts, and never synced. Keys are looked up in the mapped file, and values copied out of it.
final class LMDBCache: BenchCache {
  private struct State: @unchecked Sendable {
    // Unchecked: used under the lock alone.
    var environment: OpaquePointer?
    /// What is being written; it sees what was put, and others do not.
    var writing: OpaquePointer?
    var database: UInt32 = 0
    var pending = 0
  }

  private static let batch = 64
  /// NOSYNC, WRITEMAP, NOTLS and NOLOCK: a lock of ours is around everything.
  private static let flags: UInt32 = 0x10000 | 0x80000 | 0x20_0000 | 0x40_0000
  private static let readOnly: UInt32 = 0x20000
  /// Gives the place for a value instead of copying it.
  private static let reserve: UInt32 = 0x10000

  private let data: DiskData
  private let library: LMDBLibrary
  private let state: Mutex<State>

  init(_ data: DiskData, _ library: LMDBLibrary, directory: String, capacity: Int) throws {
    self.data = data
    self.library = library
    var state = State()
    func check(_ code: Int32, _ what: String) throws {
      guard code == 0 else { throw BenchError.unprepared("LMDB cannot \(what): error \(code)") }
    }
    try check(library.createEnvironment(&state.environment), "make an environment")
    try check(library.setMapSize(state.environment, capacity), "have so much room")
    try check(library.openEnvironment(state.environment, directory, Self.flags, 0o600), "open a directory")
    try check(library.begin(state.environment, nil, 0, &state.writing), "begin a transaction")
    try check(library.openDatabase(state.writing, nil, 0, &state.database), "open a database")
    try check(library.commit(state.writing), "commit")
    state.writing = nil
    self.state = Mutex(state)
  }

  func warm(_ key: Int) { data.touch(key) }

  func close() {
    state.withLock { state in
      if state.writing != nil { _ = library.commit(state.writing) }
      library.closeEnvironment(state.environment)
      state = State()
    }
  }

  func operation(_ action: Action) -> (@Sendable (Int) -> Bool)? {
    data.operation(action, put: { self.put($0) }, get: { self.get($0) })
  }

  private func put(_ key: Int) -> Bool {
    let (keyBytes, head, body) = (data.keys[key].bytes, data.head, data.body(key))
    return state.withLock { state in
      if state.writing == nil, library.begin(state.environment, nil, 0, &state.writing) != 0 { return false }
      let isDone = keyBytes.withUnsafeBytes { keyBytes in
        var key = LMDBLibrary.Value(keyBytes)
        var value = LMDBLibrary.Value(count: head.count + body.count, bytes: nil)
        guard library.put(state.writing, state.database, &key, &value, Self.reserve) == 0,
          let place = value.bytes
        else { return false }
        let target = UnsafeMutableRawBufferPointer(
          start: UnsafeMutableRawPointer(mutating: place), count: value.count)
        target.copyBytes(from: head)
        UnsafeMutableRawBufferPointer(rebasing: target[head.count...]).copyBytes(from: body)
        return true
      }
      state.pending += 1
      guard state.pending == Self.batch else { return isDone }
      defer { (state.writing, state.pending) = (nil, 0) }
      return library.commit(state.writing) == 0 && isDone
    }
  }

  private func get(_ key: Int) -> Int? {
    let (keyBytes, headCount) = (data.keys[key].bytes, data.head.count)
    return state.withLock { state -> Int? in
      var reading = state.writing
      if reading == nil, library.begin(state.environment, nil, Self.readOnly, &reading) != 0 { return nil }
      defer { if state.writing == nil { library.abort(reading) } }
      return keyBytes.withUnsafeBytes { keyBytes -> Int? in
        var key = LMDBLibrary.Value(keyBytes)
        var value = LMDBLibrary.Value(count: 0, bytes: nil)
        guard library.get(reading, state.database, &key, &value) == 0, value.count >= headCount else {
          return nil
        }
        // In memory of its own: LMDB's may be another's after the next commit.
        return Array(UnsafeRawBufferPointer(start: value.bytes, count: value.count)).count - headCount
      }
    }
  }
}

/// The few functions of LMDB, whose interface has been the same since version 0.9.
struct LMDBLibrary: Sendable {
  /// `MDB_val`.
  struct Value {
    var count: Int
    var bytes: UnsafeRawPointer?

    init(count: Int, bytes: UnsafeRawPointer?) {
      self.count = count
      self.bytes = bytes
    }

    init(_ bytes: UnsafeRawBufferPointer) {
      self.init(count: bytes.count, bytes: bytes.baseAddress)
    }
  }

  typealias Pointer = UnsafeMutableRawPointer

  let createEnvironment: @convention(c) (UnsafeMutablePointer<OpaquePointer?>) -> Int32
  let setMapSize: @convention(c) (OpaquePointer?, Int) -> Int32
  let openEnvironment: @convention(c) (OpaquePointer?, UnsafePointer<CChar>, UInt32, UInt32) -> Int32
  let closeEnvironment: @convention(c) (OpaquePointer?) -> Void
  let begin:
    @convention(c) (OpaquePointer?, OpaquePointer?, UInt32, UnsafeMutablePointer<OpaquePointer?>) -> Int32
  let openDatabase:
    @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, UInt32, UnsafeMutablePointer<UInt32>) -> Int32
  let commit: @convention(c) (OpaquePointer?) -> Int32
  let abort: @convention(c) (OpaquePointer?) -> Void
  let put: @convention(c) (OpaquePointer?, UInt32, Pointer, Pointer, UInt32) -> Int32
  let get: @convention(c) (OpaquePointer?, UInt32, Pointer, Pointer) -> Int32

  /// `nil` where it is not installed.
  static let shared: LMDBLibrary? = LMDBLibrary()

  private init?() {
    #if canImport(Darwin)
      let names = ["liblmdb.dylib", "/opt/homebrew/lib/liblmdb.dylib"]
    #else
      let names = ["liblmdb.so.0", "liblmdb.so"]
    #endif
    guard let library = SystemLibrary(names),
      let createEnvironment: @convention(c) (UnsafeMutablePointer<OpaquePointer?>) -> Int32 =
        library.function("mdb_env_create"),
      let setMapSize: @convention(c) (OpaquePointer?, Int) -> Int32 =
        library.function("mdb_env_set_mapsize"),
      let openEnvironment: @convention(c) (OpaquePointer?, UnsafePointer<CChar>, UInt32, UInt32) -> Int32 =
        library.function("mdb_env_open"),
      let closeEnvironment: @convention(c) (OpaquePointer?) -> Void = library.function("mdb_env_close"),
      let begin:
        @convention(c) (OpaquePointer?, OpaquePointer?, UInt32, UnsafeMutablePointer<OpaquePointer?>) -> Int32
        =
        library.function("mdb_txn_begin"),
      let openDatabase:
        @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, UInt32, UnsafeMutablePointer<UInt32>) -> Int32
        =
        library.function("mdb_dbi_open"),
      let commit: @convention(c) (OpaquePointer?) -> Int32 = library.function("mdb_txn_commit"),
      let abort: @convention(c) (OpaquePointer?) -> Void = library.function("mdb_txn_abort"),
      let put: @convention(c) (OpaquePointer?, UInt32, Pointer, Pointer, UInt32) -> Int32 =
        library.function("mdb_put"),
      let get: @convention(c) (OpaquePointer?, UInt32, Pointer, Pointer) -> Int32 = library.function(
        "mdb_get")
    else { return nil }
    (self.createEnvironment, self.setMapSize, self.openEnvironment, self.closeEnvironment) =
      (createEnvironment, setMapSize, openEnvironment, closeEnvironment)
    (self.begin, self.openDatabase, self.commit, self.abort) = (begin, openDatabase, commit, abort)
    (self.put, self.get) = (put, get)
  }
}
