// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import TestSupport
import Testing

@testable import HTTPCacheStore

@Suite("XXH3", .timeLimit(.minutes(10)))
struct XXH3Tests {
  /// The seed of `xsum_sanity_check.c`.
  private static let seed: UInt64 = 0x9E37_79B1_85EB_CA8D

  /// The bytes that `xsum_sanity_check.c` in the repository of xxHash hashes.
  private static let bytes: [UInt8] = {
    var state: UInt64 = 0x9E37_79B1
    return (0..<2367).map { _ in
      defer { state &*= seed }
      return UInt8(state >> 56)
    }
  }()

  // Those that its own check has, and between them those of libxxhash 0.8.
  @Test(
    "The hashes equal those of xxHash",
    arguments: [
      (0, 0x2D06_8005_38D3_94C2, 0xA8A6_B918_B2F0_364A), (1, 0xC44B_DFF4_074E_ECDB, 0x032B_E332_DD76_6EF8),
      (2, 0x7A99_7804_4CB8_A8BB, 0x764B_35C9_0519_AD88), (3, 0x5424_7382_A8D6_B94D, 0x634B_8990_B497_6373),
      (4, 0xE5DC_74BC_5184_8A51, 0xAA2E_7ECC_B0C8_F747), (6, 0x27B5_6A84_CD2D_7325, 0x8458_9C11_6AB5_9AB9),
      (8, 0x24CC_C9AC_AA9F_65E4, 0x8F97_3410_999B_8F6B), (9, 0x14D5_001C_15DD_3F2B, 0xB3AE_7333_D901_3F60),
      (12, 0xA713_DAF0_DFBB_77E7, 0xE730_3E1B_2336_DE0E), (16, 0x981B_17D3_6C74_98C9, 0x663F_2933_3B4D_B6B1),
      (17, 0x796F_5ACD_3A60_F862, 0xF3EC_5067_F430_6DB3), (24, 0xA3FE_70BF_9D35_10EB, 0x850E_80FC_35BD_D690),
      (32, 0x9FEA_DDBD_BF57_EED3, 0x2199_FAB1_5348_93D9), (33, 0xABFB_2D08_1B40_0A10, 0xAD56_348D_A574_BB6D),
      (48, 0x397D_A259_ECBA_1F11, 0xADC2_CBAA_44AC_C616), (64, 0x9CB4_8487_720E_C49D, 0x4FE8_895D_B9B8_C077),
      (65, 0xFD81_AAC4_BEBC_3883, 0xAD80_AEEC_1FC9_E0A7), (80, 0xBCDE_FBBB_2C47_C90A, 0xC6DD_0CB6_9953_2E73),
      (96, 0x935A_769A_7F94_776F, 0x70CF_5193_7E50_0540), (97, 0xCA4C_A268_FD3C_3A6C, 0xEE46_1D3A_DD7E_E6C9),
      (128, 0xFCFF_2412_6754_D861, 0x73FD_E752_8064_6649),
      (129, 0x98F1_B0A6_79A2_CA29, 0x21FF_FDBC_A099_C844),
      (143, 0x7A78_1369_3F1F_4EDB, 0x43B3_274A_E68D_5742),
      (144, 0xC440_D47E_5F03_FE58, 0x858D_16B7_1F4D_D859),
      (195, 0xCD94_217E_E362_EC3A, 0xBA68_003D_370C_B3D9),
      (240, 0x81C3_C2B6_7F56_8CCF, 0xCC0F_58C2_7EF3_D8EE),
      (241, 0xC5A6_39EC_D203_0E5E, 0xDDA9_B0A1_61D4_829A),
      (256, 0x55DE_574A_D89D_0AC5, 0x4D30_234B_7A3A_A61C),
      (257, 0xB17F_D5A8_AE75_BB0B, 0x802A_6FBF_3CAC_D97C),
      (403, 0xCDEB_804D_65C6_DEA4, 0x6259_F6EC_FD64_43FD),
      (512, 0x617E_4959_9013_CB6B, 0x3CE4_57DE_14C2_7708),
      (1023, 0x87A8_F7B2_F2E2_2496, 0x0F0F_02DE_8590_E1B5),
      (1024, 0xDD85_C9B5_C110_9C5C, 0xEF36_8A8A_2EBA_BAEF),
      (1025, 0xD870_C0FA_1321_1C6A, 0x9679_2BCF_9AF8_8519),
      (2048, 0xDD59_E2C3_A5F0_38E0, 0x66F8_1670_669A_BABC),
      (2049, 0xD3AF_A432_9779_B921, 0xE480_8383_6CD5_8024),
      (2240, 0x6E73_A905_39CF_2948, 0x757B_A848_7D1B_5247),
      (2367, 0xCB37_AEB9_E5D3_61ED, 0xD2DB_3415_B942_B42A),
    ] as [(Int, UInt64, UInt64)])
  func knownValues(count: Int, unseeded: UInt64, seeded: UInt64) {
    Self.bytes[..<count].withUnsafeBytes { bytes in
      #expect(SwiftXXH3.hash(bytes, seed: 0) == unseeded)
      #expect(SwiftXXH3.hash(bytes, seed: Self.seed) == seeded)
      #expect(XXH3.hash(bytes, seed: Self.seed) == seeded)
    }
  }

  @Test(
    "Swift and libxxhash agree for each length up to 4,096, with random seeds",
    .enabled(if: XXH3.usesLibrary),
    arguments: [0, 1 << 63, .max, 2] as [UInt64])
  func agreement(number: UInt64) {
    var random = SplitMix64(seed: number)
    let bytes = [UInt8](randomCount: 8192, using: &random)
    for count in 0...4096 {
      // The arguments are seeds too: carries and signs show with the large ones.
      let seed = count.isMultiple(of: 2) ? number : random.next()
      expectAgreement(bytes, from: Int.random(in: 0...4096, using: &random), count, seed)
    }
  }

  @Test(
    "Swift and libxxhash agree at the edges of blocks and stripes, at any address",
    .enabled(if: XXH3.usesLibrary),
    arguments: [5 << 10, 16 << 10, 64 << 10, 1 << 20])
  func agreementOfMuch(size: Int) {
    var random = SplitMix64(seed: UInt64(size))
    let bytes = [UInt8](randomCount: size + 200, using: &random)
    for change in [-1025, -1024, -1023, -65, -64, -63, -1, 0, 1, 63, 64, 65] {
      expectAgreement(bytes, from: Int.random(in: 0..<100, using: &random), size + change, random.next())
    }
  }

  private func expectAgreement(_ bytes: [UInt8], from start: Int, _ count: Int, _ seed: UInt64) {
    bytes[start..<start + count].withUnsafeBytes { bytes in
      let (own, library) = (SwiftXXH3.hash(bytes, seed: seed), XXH3.hash(bytes, seed: seed))
      // The macro takes longer than both.
      if own != library { Issue.record("\(count) bytes, seed \(seed): \(own) is not \(library)") }
    }
  }
}

extension [UInt8] {
  fileprivate init(randomCount count: Int, using random: inout SplitMix64) {
    self = []
    reserveCapacity(count + 8)
    while self.count < count { Swift.withUnsafeBytes(of: random.next()) { append(contentsOf: $0) } }
    removeLast(self.count - count)
  }
}
