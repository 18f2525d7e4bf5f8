// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "Feed",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(url: "https://…/HTTPCacheEngine", .upToNextMinor(from: "0.1.0"))
  ],
  targets: [
    .executableTarget(
      name: "Feed",
      dependencies: [.product(name: "HTTPCacheURLSession", package: "HTTPCacheEngine")])
  ])
