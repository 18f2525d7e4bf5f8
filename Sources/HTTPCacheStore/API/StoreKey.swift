/// The name of a stored resource: bytes that the store compares whole and never interprets.
///
/// Two keys are equal when their bytes are. The store hashes them with a random seed, so nobody outside can choose
/// keys that collide.
public struct StoreKey: Hashable, Sendable {
  /// The bytes of the key.
  public let bytes: [UInt8]

  /// A key of these bytes.
  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// A key of the string's UTF-8. Strings are compared byte by byte: no normalisation takes place.
  public init(_ string: String) {
    self.bytes = Array(string.utf8)
  }
}

extension StoreKey: CustomStringConvertible {
  public var description: String { String(decoding: bytes, as: UTF8.self) }
}

/// An opaque fingerprint that tells the variants of one resource apart.
///
/// Inserting under the same key and variant replaces the entry that was there. ``CacheStore/fingerprint(of:)`` makes
/// one from bytes.
public struct VariantID: Hashable, Sendable, RawRepresentable {
  public let rawValue: UInt64

  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// The identity of one stored entry: it grows with every insert.
///
/// Of two entries of one key and variant the greater is the newer. An id is never used twice by one store, and the id
/// of an entry that reached the disk is never used again in that directory.
public struct EntryID: Hashable, Sendable, Comparable {
  public let rawValue: UInt64

  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  public static func < (left: EntryID, right: EntryID) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The places an entry is kept in.
public struct StoreTiers: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Memory: gone with the process.
  public static let memory = StoreTiers(rawValue: 1 << 0)
  /// Disk: found again when the directory is opened again.
  public static let disk = StoreTiers(rawValue: 1 << 1)
  /// Memory and disk.
  public static let all: StoreTiers = [.memory, .disk]
}
