// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import PackageDescription

// A separate package, as a service is that uses the cache.
let package = Package(
  name: "Gateway",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(
      name: "HTTPCacheEngine", path: "../..", traits: ["AsyncHTTPClient", "Hummingbird", "Observing"]),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
  ],
  targets: [
    .executableTarget(
      name: "Gateway",
      dependencies: [
        .product(name: "HTTPCacheAsyncHTTPClient", package: "HTTPCacheEngine"),
        .product(name: "HTTPCacheHummingbird", package: "HTTPCacheEngine"),
        .product(name: "HTTPCacheObserving", package: "HTTPCacheEngine"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "GatewayTests",
      dependencies: [
        "Gateway", .product(name: "HummingbirdTesting", package: "hummingbird"),
        .product(name: "HTTPCacheTesting", package: "HTTPCacheEngine"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
