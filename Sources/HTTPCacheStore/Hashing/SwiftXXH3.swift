// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// 64-bit XXH3 with a seed, in Swift. The values equal those of libxxhash, so platforms without that library need
/// nothing else.
///
/// It is written from the specification of XXH3 (`doc/xxhash_spec.md` in the repository of xxHash), and its parts have
/// the names used there. It is compiled on all platforms, so that the tests compare both. Words are read in the
/// processor's byte order, which is little-endian on every platform that Swift supports.
// Pointers, because the reads are of 8 and 64 bytes at any address, and each method reads only where its lengths allow.
package enum SwiftXXH3 {
  /// Returns the hash of bytes.
  ///
  /// - Complexity: O(`bytes.count`)
  package static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    guard let start = bytes.baseAddress, bytes.count > 0 else {
      return avalanche64(seed ^ secret.7 ^ secret.8)
    }
    return switch bytes.count {
    case ...3: hashUpTo3(start, bytes.count, seed)
    case ...8: hashUpTo8(start, bytes.count, seed)
    case ...16: hashUpTo16(start, bytes.count, seed)
    case ...128: hashUpTo128(start, bytes.count, seed)
    case ...240: hashUpTo240(start, bytes.count, seed)
    default: hashLong(start, bytes.count, seed)
    }
  }

  // MARK: Constants

  private static let prime32x1: UInt64 = 0x9E37_79B1
  private static let prime32x2: UInt64 = 0x85EB_CA77
  private static let prime32x3: UInt64 = 0xC2B2_AE3D
  private static let prime64x1: UInt64 = 0x9E37_79B1_85EB_CA87
  private static let prime64x2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
  private static let prime64x3: UInt64 = 0x1656_67B1_9E37_79F9
  private static let prime64x4: UInt64 = 0x85EB_CA77_C2B2_AE63
  private static let prime64x5: UInt64 = 0x27D4_EB2F_1656_67C5
  private static let primeMX1: UInt64 = 0x1656_6791_9E37_79F9
  private static let primeMX2: UInt64 = 0x9FB2_1C65_1E98_DF25

  private typealias Lanes = SIMD8<UInt64>

  // swift-format-ignore
  private typealias Secret = (
    UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
    UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64
  )
  /// The default secret: 192 bytes.
  private static let secret: Secret = (
    0xBE4B_A423_396C_FEB8, 0x1CAD_21F7_2C81_017C, 0xDB97_9083_E96D_D4DE, 0x1F67_B3B7_A4A4_4072,
    0x78E5_C0CC_4EE6_79CB, 0x2172_FFCC_7DD0_5A82, 0x8E24_43F7_7446_08B8, 0x4C26_3A81_E690_35E0,
    0xCB00_C391_BB52_283C, 0xA32E_531B_8B65_D088, 0x4EF9_0DA2_9748_6471, 0xD8AC_DEA9_46EF_1938,
    0x3F34_9CE3_3F76_FAA8, 0x1D4F_0BC7_C7BB_DCF9, 0x3159_B4CD_4BE0_518A, 0x6473_78D9_C97E_9FC8,
    0xC3EB_D334_83AC_C5EA, 0xEB63_13FA_FFA0_81C5, 0x49DA_F0B7_51DD_0D17, 0x9E68_D429_2655_16D3,
    0xFCA1_477D_58BE_162B, 0xCE31_D07A_D1B8_F88F, 0x2804_1695_8F3A_CB45, 0x7E40_4BBB_CAFB_D7AF
  )
  private static let secretCount = 192

  // MARK: Up to 240 bytes

  private static func hashUpTo3(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    let first = UInt64(byte(start, 0))
    let middle = UInt64(byte(start, count >> 1))
    let last = UInt64(byte(start, count &- 1))
    let combined = first << 16 | middle << 24 | last | UInt64(truncatingIfNeeded: count) << 8
    let words = secret.0
    return avalanche64(combined ^ ((words ^ words >> 32) & 0xFFFF_FFFF &+ seed))
  }

  private static func hashUpTo8(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    let seed = seed ^ UInt64(UInt32(truncatingIfNeeded: seed).byteSwapped) << 32
    let first = UInt64(start.loadUnaligned(as: UInt32.self))
    let last = UInt64(start.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
    var hash = (last &+ first << 32) ^ ((secret.1 ^ secret.2) &- seed)
    hash ^= rotated(hash, 49) ^ rotated(hash, 24)
    hash &*= primeMX2
    hash ^= hash >> 35 &+ UInt64(truncatingIfNeeded: count)
    hash &*= primeMX2
    return hash ^ hash >> 28
  }

  private static func hashUpTo16(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    let low = word(start, 0) ^ ((secret.3 ^ secret.4) &+ seed)
    let high = word(start, count &- 8) ^ ((secret.5 ^ secret.6) &- seed)
    return avalanche(
      UInt64(truncatingIfNeeded: count) &+ low.byteSwapped &+ high &+ foldedProduct(low, high))
  }

  private static func hashUpTo128(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    var hash = UInt64(truncatingIfNeeded: count) &* prime64x1
    // From both ends, 16 bytes each.
    hash &+=
      mixed16(start, secret.0, secret.1, seed) &+ mixed16(start + (count &- 16), secret.2, secret.3, seed)
    if count > 32 {
      hash &+=
        mixed16(start + 16, secret.4, secret.5, seed)
        &+ mixed16(start + (count &- 32), secret.6, secret.7, seed)
    }
    if count > 64 {
      hash &+=
        mixed16(start + 32, secret.8, secret.9, seed)
        &+ mixed16(start + (count &- 48), secret.10, secret.11, seed)
    }
    if count > 96 {
      hash &+=
        mixed16(start + 48, secret.12, secret.13, seed)
        &+ mixed16(start + (count &- 64), secret.14, secret.15, seed)
    }
    return avalanche(hash)
  }

  private static func hashUpTo240(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    withUnsafeBytes(of: secret) { secret in
      func mixed(_ offset: Int, _ secretOffset: Int) -> UInt64 {
        mixed16(
          start + offset, secret.loadUnaligned(fromByteOffset: secretOffset, as: UInt64.self),
          secret.loadUnaligned(fromByteOffset: secretOffset &+ 8, as: UInt64.self), seed)
      }
      var hash = UInt64(truncatingIfNeeded: count) &* prime64x1
      var offset = 0
      while offset < 128 {
        hash &+= mixed(offset, offset)
        offset &+= 16
      }
      hash = avalanche(hash)
      while offset &+ 16 <= count {
        hash &+= mixed(offset, offset &- 125)
        offset &+= 16
      }
      return avalanche(hash &+ mixed(count &- 16, 119))
    }
  }

  @inline(__always)
  private static func mixed16(
    _ start: UnsafeRawPointer, _ first: UInt64, _ second: UInt64, _ seed: UInt64
  ) -> UInt64 {
    foldedProduct(word(start, 0) ^ (first &+ seed), word(start, 8) ^ (second &- seed))
  }

  // MARK: More

  private static let stripeCount = 64
  /// Stripes per block: each uses the secret 8 bytes further on, until it is used up.
  private static let stripesPerBlock = 16
  private static let blockCount = stripeCount * stripesPerBlock

  private static func hashLong(_ start: UnsafeRawPointer, _ count: Int, _ seed: UInt64) -> UInt64 {
    let sign = Lanes(0, .max, 0, .max, 0, .max, 0, .max)
    // Every other word plus the seed, the others minus the seed.
    let seeds = (Lanes(repeating: seed) ^ sign) &- sign
    let derived = withUnsafeBytes(of: secret) { secret in
      (
        secret.loadUnaligned(as: Lanes.self) &+ seeds,
        secret.loadUnaligned(fromByteOffset: 64, as: Lanes.self) &+ seeds,
        secret.loadUnaligned(fromByteOffset: 128, as: Lanes.self) &+ seeds
      )
    }
    return withUnsafeBytes(of: derived) { secret in
      secret.baseAddress.map { hashLong(start, count, secret: $0) } ?? 0
    }
  }

  @inline(__always)
  private static func hashLong(_ start: UnsafeRawPointer, _ count: Int, secret: UnsafeRawPointer) -> UInt64 {
    var lanes = Lanes(
      prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1)
    let scrambling = lanesLoaded(secret, secretCount - stripeCount)
    // The last block, full or not, is not scrambled, and the last stripe ends with the last byte.
    let end = start + (count &- 1)
    var block = start
    while end - block >= blockCount {
      accumulate(block, stripesPerBlock, secret, &lanes)
      lanes = (lanes ^ lanes &>> 47 ^ scrambling) &* Lanes(repeating: prime32x1)
      block += blockCount
    }
    accumulate(block, (end - block) / stripeCount, secret, &lanes)
    accumulate(start + (count &- stripeCount), 1, secret + (secretCount - stripeCount - 7), &lanes)

    var hash = UInt64(truncatingIfNeeded: count) &* prime64x1
    var lane = 0
    while lane < 8 {
      hash &+= foldedProduct(
        lanes[lane] ^ word(secret, 11 &+ lane &* 8), lanes[lane &+ 1] ^ word(secret, 19 &+ lane &* 8))
      lane &+= 2
    }
    return avalanche(hash)
  }

  /// Adds stripes to the lanes: to each lane the product of the halves of its word, and the word of its neighbour.
  @inline(__always)
  private static func accumulate(
    _ start: UnsafeRawPointer, _ count: Int, _ secret: UnsafeRawPointer, _ lanes: inout Lanes
  ) {
    var words = Lanes.zero
    var stripe = 0
    while stripe < count {
      let data = lanesLoaded(start, stripe &* stripeCount)
      let keyed = data ^ lanesLoaded(secret, stripe &* 8)
      lanes &+= (keyed & Lanes(repeating: 0xFFFF_FFFF)) &* (keyed &>> 32)
      words &+= data
      stripe &+= 1
    }
    // The neighbours change places once for all stripes, instead of in each stripe.
    (words.evenHalf, words.oddHalf) = (words.oddHalf, words.evenHalf)
    lanes &+= words
  }

  // MARK: Pieces

  @inline(__always)
  private static func byte(_ start: UnsafeRawPointer, _ offset: Int) -> UInt8 {
    start.load(fromByteOffset: offset, as: UInt8.self)
  }

  @inline(__always)
  private static func word(_ start: UnsafeRawPointer, _ offset: Int) -> UInt64 {
    start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  @inline(__always)
  private static func lanesLoaded(_ start: UnsafeRawPointer, _ offset: Int) -> Lanes {
    start.loadUnaligned(fromByteOffset: offset, as: Lanes.self)
  }

  @inline(__always)
  private static func rotated(_ word: UInt64, _ bits: UInt64) -> UInt64 {
    word &<< bits | word &>> (64 &- bits)
  }

  /// The 128 bits of a product, its halves folded into one.
  @inline(__always)
  private static func foldedProduct(_ first: UInt64, _ second: UInt64) -> UInt64 {
    let product = first.multipliedFullWidth(by: second)
    return product.low ^ product.high
  }

  @inline(__always)
  private static func avalanche(_ hash: UInt64) -> UInt64 {
    var hash = hash
    hash ^= hash >> 37
    hash &*= primeMX1
    return hash ^ hash >> 32
  }

  /// The avalanche of XXH64.
  @inline(__always)
  private static func avalanche64(_ hash: UInt64) -> UInt64 {
    var hash = hash
    hash ^= hash >> 33
    hash &*= prime64x2
    hash ^= hash >> 29
    hash &*= prime64x3
    return hash ^ hash >> 32
  }
}
