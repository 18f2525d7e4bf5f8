// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import PackageDescription

// A separate package, as a library is that brings its own transport.
let package = Package(
  name: "CachingClient",
  platforms: [.macOS(.v15)],
  products: [.library(name: "CachingClient", targets: ["CachingClient"])],
  dependencies: [
    .package(name: "HTTPCacheEngine", path: "../.."),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
  ],
  targets: [
    .target(
      name: "CachingClient",
      dependencies: [
        .product(name: "HTTPCacheEngine", package: "HTTPCacheEngine"),
        .product(name: "HTTPCacheStore", package: "HTTPCacheEngine"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
