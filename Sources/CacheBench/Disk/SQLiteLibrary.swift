import Foundation

/// The system's SQLite.
///
/// Its C interface has been the same since version 3.3.9, and the few functions are declared here.
struct SQLiteLibrary: Sendable {
  typealias Text = UnsafePointer<CChar>
  typealias Bytes = UnsafeRawPointer

  let open: @convention(c) (Text, UnsafeMutablePointer<OpaquePointer?>) -> Int32
  let close: @convention(c) (OpaquePointer?) -> Int32
  let exec: @convention(c) (OpaquePointer?, Text, Bytes?, Bytes?, Bytes?) -> Int32
  let prepare:
    @convention(c) (OpaquePointer?, Text, Int32, UnsafeMutablePointer<OpaquePointer?>, Bytes?) -> Int32
  let bindBlob: @convention(c) (OpaquePointer?, Int32, Bytes?, Int32, Bytes?) -> Int32
  let step: @convention(c) (OpaquePointer?) -> Int32
  let reset: @convention(c) (OpaquePointer?) -> Int32
  let columnBlob: @convention(c) (OpaquePointer?, Int32) -> Bytes?
  let columnBytes: @convention(c) (OpaquePointer?, Int32) -> Int32
  let finalize: @convention(c) (OpaquePointer?) -> Int32
  let version: String

  static let done: Int32 = 101
  static let row: Int32 = 100

  /// `nil` where it is not installed.
  static let shared: SQLiteLibrary? = SQLiteLibrary()

  private init?() {
    #if canImport(Darwin)
      let names = ["libsqlite3.dylib"]
    #else
      let names = ["libsqlite3.so.0", "libsqlite3.so"]
    #endif
    guard let library = SystemLibrary(names) else { return nil }
    func function<Function>(_ name: String) -> Function? { library.function("sqlite3_" + name) }
    guard let open: @convention(c) (Text, UnsafeMutablePointer<OpaquePointer?>) -> Int32 = function("open"),
      let close: @convention(c) (OpaquePointer?) -> Int32 = function("close"),
      let exec: @convention(c) (OpaquePointer?, Text, Bytes?, Bytes?, Bytes?) -> Int32 = function("exec"),
      let prepare:
        @convention(c) (OpaquePointer?, Text, Int32, UnsafeMutablePointer<OpaquePointer?>, Bytes?) -> Int32 =
        function("prepare_v2"),
      let bindBlob: @convention(c) (OpaquePointer?, Int32, Bytes?, Int32, Bytes?) -> Int32 = function(
        "bind_blob"),
      let step: @convention(c) (OpaquePointer?) -> Int32 = function("step"),
      let reset: @convention(c) (OpaquePointer?) -> Int32 = function("reset"),
      let columnBlob: @convention(c) (OpaquePointer?, Int32) -> Bytes? = function("column_blob"),
      let columnBytes: @convention(c) (OpaquePointer?, Int32) -> Int32 = function("column_bytes"),
      let finalize: @convention(c) (OpaquePointer?) -> Int32 = function("finalize"),
      let version: @convention(c) () -> Text = function("libversion")
    else { return nil }
    (self.open, self.close, self.exec, self.prepare) = (open, close, exec, prepare)
    (self.bindBlob, self.step, self.reset, self.finalize) = (bindBlob, step, reset, finalize)
    (self.columnBlob, self.columnBytes) = (columnBlob, columnBytes)
    self.version = String(cString: version())
  }
}
