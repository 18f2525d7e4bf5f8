// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// To build what makes ordo-one's benchmarks takes 60 s of processor time, and `count` needs none of it.
let countsOnly = Context.environment["HTTPCACHE_COUNTS_ONLY"] != nil

// A separate package: packages that depend on the cache do not fetch what measures it.
let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "HTTPCacheEngine", path: "..", traits: ["Proxy"]),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-system", from: "1.4.0"),
  ]
    // Without traits it needs no jemalloc; CAllocations counts instead.
    + (countsOnly
      ? [] : [.package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: [])]),
  targets: [
    // What is measured, each piece prepared apart from its runs.
    .target(
      name: "Operations",
      dependencies: [
        "CAllocations",
        .product(name: "HTTPCacheEngine", package: "HTTPCacheEngine"),
        .product(name: "HTTPCacheProxy", package: "HTTPCacheEngine"),
        .product(name: "HTTPCacheStore", package: "HTTPCacheEngine"),
        .product(name: "HTTPCaching", package: "HTTPCacheEngine"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: settings),
    // malloc, counted; tasks, run on one thread; and a client and an origin that are not counted.
    .target(name: "CAllocations"),
    // Runs one piece so many times: for `make bench-instructions`.
    .executableTarget(name: "count", dependencies: ["Operations", "CAllocations"], swiftSettings: settings),
  ]
    // The same pieces for `swift package benchmark`.
    + (countsOnly
      ? []
      : [
        .executableTarget(
          name: "Pieces", dependencies: ["Operations", .product(name: "Benchmark", package: "benchmark")],
          path: "Benchmarks/Pieces", swiftSettings: settings,
          plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")])
      ]),
  swiftLanguageModes: [.v6]
)
