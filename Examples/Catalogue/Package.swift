// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import PackageDescription

// A separate package, as a service is that uses the cache.
let package = Package(
  name: "Catalogue",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "HTTPCacheEngine", path: "../..", traits: ["Hummingbird"]),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
  ],
  targets: [
    .target(
      name: "Catalogue",
      dependencies: [
        .product(name: "HTTPCacheHummingbird", package: "HTTPCacheEngine"),
        .product(name: "HTTPCacheTesting", package: "HTTPCacheEngine"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "AsyncHTTPClient", package: "async-http-client"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ]),
    .executableTarget(name: "CatalogueServer", dependencies: ["Catalogue"]),
  ],
  swiftLanguageModes: [.v6]
)
