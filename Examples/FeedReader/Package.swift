// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import PackageDescription

// A separate package, as an app is that uses the cache.
let package = Package(
  name: "FeedReader",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "HTTPCacheEngine", path: "../..")],
  targets: [
    .executableTarget(
      name: "FeedReader",
      dependencies: [
        .product(name: "HTTPCacheURLSession", package: "HTTPCacheEngine")
      ])
  ],
  swiftLanguageModes: [.v6]
)
