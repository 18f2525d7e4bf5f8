// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// Packages that only some products need are behind a trait: without the trait, they are not even fetched.
extension Target.Dependency {
  static func product(_ name: String, _ package: String, _ traits: Set<String>? = nil) -> Self {
    .product(name: name, package: package, condition: traits.flatMap { .when(traits: $0) })
  }
  static func nio(_ name: String) -> Self {
    .product(name, "swift-nio", ["Proxy", "AsyncHTTPClient", "Hummingbird", "Redis"])
  }
  static func log(_ name: String = "Logging") -> Self {
    .product(name, "swift-log", ["Observing", "AsyncHTTPClient", "Hummingbird"])
  }
  static func tracing(_ name: String) -> Self { .product(name, "swift-distributed-tracing", ["Tracing"]) }
  static func extras(_ name: String) -> Self { .product(name, "swift-nio-extras", ["AsyncHTTPClient"]) }
  static func lifecycle(_ name: String) -> Self { .product(name, "swift-service-lifecycle", ["Proxy"]) }

  static let httpTypes = product("HTTPTypes", "swift-http-types")
  /// For structured fields only: they parse strictly, and the fields of old do not.
  static let structuredFields = product("RawStructuredFieldValues", "swift-http-structured-headers")
  static let system = product("SystemPackage", "swift-system")
  static let arguments = product("ArgumentParser", "swift-argument-parser", ["CommandLine", "Benchmarks"])
  static let client = product("AsyncHTTPClient", "async-http-client", ["AsyncHTTPClient"])
  static let hummingbird = product("Hummingbird", "hummingbird", ["Hummingbird"])
  static let tls = product("NIOSSL", "swift-nio-ssl", ["AsyncHTTPClient", "Redis", "TLS"])
  /// On Linux libxxhash computes the hashes, elsewhere `SwiftXXH3`, with the same values. `make test-swift-hash` sets the
  /// variable, which leaves libxxhash out on Linux too.
  static let xxHash: [Self] =
    Context.environment["HTTPCACHE_SWIFT_HASH"] == nil
    ? [.target(name: "CXXHash", condition: .when(platforms: [.linux]))] : []
  /// For connections to Redis.
  static let hiredis = target(name: "CHiredis", condition: .when(traits: ["Redis"]))
  /// For the configuration file of the proxy.
  static let libYAML = target(name: "CLibYAML", condition: .when(traits: ["CommandLine"]))
}

/// What is built on the cache.
let cache: [Target.Dependency] = [
  "CacheMutex", "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", .httpTypes,
]
let http2: [Target.Dependency] = ["NIOHPACK", "NIOHTTP2"].map { .product($0, "swift-nio-http2", ["Proxy"]) }

/// A library that only a trait needs. On Linux its headers are in the usual place, and the package manager warns of the flags
/// that pkg-config returns, and of a library that is missing.
func optionalLibrary(_ name: String, pkgConfig: String, apt: String, brew: String) -> Target {
  #if os(macOS)
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.brew([brew])])
  #else
    .systemLibrary(name: name, providers: [.apt([apt])])
  #endif
}

func library(
  _ name: String, in path: String? = nil, exclude: [String] = [], _ dependencies: [Target.Dependency]
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: path, exclude: exclude, swiftSettings: settings)
}

func tests(_ name: String, exclude: [String] = [], _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(
    name: name, dependencies: dependencies + ["TestSupport"], exclude: exclude, swiftSettings: settings)
}

/// `make fuzz` sets the variable, and the flags without which the fuzzer does not link.
let fuzzing: [Target] =
  Context.environment["HTTPCACHE_FUZZ"] == nil
  ? []
  : [
    .systemLibrary(name: "CLibFuzzer", path: "Fuzz/CLibFuzzer"),
    .executableTarget(
      name: "fuzz", dependencies: ["CLibFuzzer", "CacheProperties", .httpTypes], path: "Fuzz/fuzz",
      swiftSettings: settings),
  ]

let package = Package(
  name: "HTTPCacheEngine",
  // Synchronization (Mutex, Atomic) sets the floor.
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "HTTPCacheEngine", targets: ["HTTPCacheEngine"]),
    .library(name: "HTTPCacheStore", targets: ["HTTPCacheStore"]),
    .library(name: "HTTPCaching", targets: ["HTTPCaching"]),
    .library(name: "HTTPCacheObserving", targets: ["HTTPCacheObserving"]),
    .library(name: "HTTPCacheProxy", targets: ["HTTPCacheProxy"]),
    .library(name: "HTTPCacheHummingbird", targets: ["HTTPCacheHummingbird"]),
    .library(name: "HTTPCacheRedis", targets: ["HTTPCacheRedis"]),
    .library(name: "HTTPCacheURLSession", targets: ["HTTPCacheURLSession"]),
    .library(name: "HTTPCacheAsyncHTTPClient", targets: ["HTTPCacheAsyncHTTPClient"]),
    .library(name: "HTTPCacheTesting", targets: ["HTTPCacheTesting"]),
    .executable(name: "cache-bench", targets: ["CacheBench"]),
    .executable(name: "cache-bench-servers", targets: ["CacheBenchServers"]),
    .executable(name: "httpcache", targets: ["httpcache"]),
  ],
  traits: [
    .default(enabledTraits: []),
    .trait(name: "Observing", description: "HTTPCacheObserving: events in swift-log and swift-metrics."),
    .trait(
      name: "Proxy", description: "HTTPCacheProxy: the cache in front of an origin, on SwiftNIO.",
      enabledTraits: ["Observing"]),
    .trait(
      name: "Tracing", description: "HTTPCacheObserving: spans in swift-distributed-tracing, too.",
      enabledTraits: ["Observing"]),
    .trait(name: "AsyncHTTPClient", description: "HTTPCacheAsyncHTTPClient: a cache for upstream calls."),
    .trait(
      name: "Hummingbird",
      description: "HTTPCacheHummingbird: a cache for the routes of a Hummingbird server."),
    .trait(name: "Redis", description: "HTTPCacheRedis: a tier of several machines, on Redis or Valkey."),
    .trait(name: "TLS", description: "TLS for HTTPCacheProxy and the command httpcache, with BoringSSL."),
    .trait(name: "CommandLine", description: "The command httpcache.", enabledTraits: ["Proxy"]),
    .trait(name: "Benchmarks", description: "The command cache-bench."),
    .trait(
      name: "ServerBenchmarks", description: "The command cache-bench-servers, and what it measures.",
      enabledTraits: ["Benchmarks", "CommandLine", "AsyncHTTPClient", "Hummingbird", "Redis", "TLS"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.2.0"),
    .package(url: "https://github.com/apple/swift-system", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.30.0"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.36.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.26.0"),
    .package(url: "https://github.com/swift-server/async-http-client", from: "1.30.0"),
  ],
  targets: [
    // What is right: RFC 9111 as values and pure functions.
    library("HTTPCacheEngine", [.httpTypes, .structuredFields]),
    // Where bytes live: memory and disk.
    library(
      "HTTPCacheStore", exclude: ["Disk/Format.md"],
      Target.Dependency.xxHash + ["CPlatform", "CacheMutex", .system]),
    // The cache: engine, store and a transport.
    library(
      "HTTPCaching", ["CPlatform", "CacheMutex", "HTTPCacheEngine", "HTTPCacheStore", .httpTypes, .system]),

    // Its events as log messages and metrics, and its steps as spans: apart, so that the cache itself needs no such packages.
    library(
      "HTTPCacheObserving",
      cache + [
        .log(), .product("CoreMetrics", "swift-metrics", ["Observing"]), .tracing("Instrumentation"),
        .tracing("Tracing"),
      ]),

    // Transports, thin.
    library("HTTPCacheURLSession", cache + [.system]),
    library(
      "HTTPCacheAsyncHTTPClient",
      cache + [
        .client, .extras("NIOHTTPCompression"), .extras("NIOHTTPTypesHTTP1"), .log(), .nio("NIOCore"),
        .nio("NIOHTTP1"), .nio("NIOPosix"), .system, .tls,
      ]),
    // Responses without a server: stubs, and what it exports: recordings and archives. The command needs only these, and no
    // FoundationNetworking.
    library(
      "HTTPCacheTesting", cache + ["HTTPCacheArchives", "HTTPCacheURLSession"]),
    library("HTTPCacheArchives", exclude: ["Format.md"], cache + [.system]),
    // The cache of a server's own routes, as a middleware of Hummingbird.
    library("HTTPCacheHummingbird", cache + [.hummingbird, .log(), .nio("NIOCore")]),
    // The cache in front of an origin, over sockets.
    library(
      "HTTPCacheProxy",
      cache + http2 + [
        "CPlatform", "HTTPCacheObserving", "TransportSecurity", .lifecycle("ServiceLifecycle"),
        .lifecycle("UnixSignals"), .log(), .nio("NIOCore"), .nio("NIOHTTP1"), .nio("NIOPosix"), .system,
      ]),
    // The tier that several machines share, and its client of Redis.
    library("HTTPCacheRedis", cache + ["TransportSecurity", .hiredis, .nio("NIOCore"), .nio("NIOPosix")]),
    // TLS of their connections.
    library(
      "TransportSecurity", ["HTTPCacheEngine", "HTTPCaching", .nio("NIOCore"), .nio("NIOTLS"), .tls]),

    // Commands.
    .executableTarget(
      name: "httpcache",
      dependencies: cache + http2 + [
        "ChildProcesses", "HTTPCacheArchives", "HTTPCacheObserving", "HTTPCacheProxy", "Loopback",
        "TransportSecurity", .arguments, .libYAML, .lifecycle("ServiceLifecycle"), .lifecycle("UnixSignals"),
        .log(), .nio("NIOCore"), .nio("NIOHTTP1"), .nio("NIOPosix"), .system,
        // For `conform --through` and --shared, with their traits.
        .target(name: "HTTPCacheAsyncHTTPClient", condition: .when(traits: ["AsyncHTTPClient"])),
        .extras("NIOHTTPTypesHTTP1"),
        .target(name: "HTTPCacheHummingbird", condition: .when(traits: ["Hummingbird"])), .hummingbird,
        .target(name: "HTTPCacheRedis", condition: .when(traits: ["Redis"])),
      ],
      exclude: ["Conform/Scenarios/Format.md"], swiftSettings: settings),
    .executableTarget(
      name: "CacheBench",
      dependencies: cache + [
        "BenchmarkHarness", "CHarness", "CPlatform", "ChildProcesses", "HTTPCacheURLSession", .arguments,
      ],
      swiftSettings: settings),
    // What needs servers, and what reads results: apart, so that the first figures need few packages.
    .executableTarget(
      name: "CacheBenchServers",
      dependencies: cache + http2 + [
        "BenchmarkHarness", "CHarness", "ChildProcesses", "HTTPCacheAsyncHTTPClient", "HTTPCacheHummingbird",
        "HTTPCacheRedis", "Loopback", .arguments, .hummingbird, .log(), .nio("NIOCore"), .nio("NIOPosix"),
      ],
      path: "Benchmarks/Servers", swiftSettings: settings),

    // MARK: For the package itself

    library("CacheMutex", []),  // that of all the others
    .systemLibrary(
      name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
    // Redis' protocol: libhiredis parses what the server sends.
    optionalLibrary("CHiredis", pkgConfig: "hiredis", apt: "libhiredis-dev", brew: "hiredis"),
    // The proxy's configuration file.
    optionalLibrary("CLibYAML", pkgConfig: "yaml-0.1", apt: "libyaml-dev", brew: "libyaml"),
    // What the compiler and the C library offer, and Swift has no name for.
    .systemLibrary(name: "CPlatform"),
    // In C, for benchmarks and tests: what a lookup and fetching from Redis cost at the least, and open descriptors at the end.
    .target(
      name: "CHarness", dependencies: ["CXXHash", .hiredis],
      cSettings: [.define("HIREDIS_FLOOR", .when(traits: ["Redis"]))],
      linkerSettings: [.linkedLibrary("hiredis", .when(traits: ["Redis"]))]),
    // What both commands of the benchmarks need: rounds, data and results.
    library(
      "BenchmarkHarness",
      cache + [
        "ChildProcesses", .arguments, .product("Histogram", "hdrhistogram-swift", ["Benchmarks"]), .system,
      ]),
    // Servers and clients on loopback, and processes of redis-server: for `conform`, `warm`, tests and benchmarks.
    library(
      "Loopback",
      http2 + [
        "CacheMutex", "ChildProcesses", .httpTypes, .nio("NIOCore"), .nio("NIOHTTP1"), .nio("NIOPosix"),
        .target(name: "HTTPCacheRedis", condition: .when(traits: ["Redis"])), "TransportSecurity",
      ]),
    library("ChildProcesses", ["CPlatform", "CacheMutex"]),  // programs that run beside this one

    // MARK: Tests

    // What must hold of the engine and of rules for whatever input: for the tests and for the fuzzer.
    library(
      "CacheProperties", in: "Fuzz/CacheProperties",
      ["HTTPCacheEngine", "HTTPCaching", .httpTypes, .structuredFields]),
    // An example whose tour the tests take.
    library(
      "Catalogue", in: "Examples/Catalogue/Sources/Catalogue",
      cache + [
        "HTTPCacheHummingbird", "HTTPCacheTesting", .client, .hummingbird, .nio("NIOCore"), .nio("NIOHTTP1"),
      ]),
    // The client of an article.
    library(
      "CachingClient", in: "Examples/CachingClient/Sources/CachingClient",
      ["HTTPCacheEngine", "HTTPCacheStore", .httpTypes]),
    // What the tests of several targets share.
    library(
      "TestSupport", in: "Tests/Support/TestSupport",
      cache + http2 + [
        "BenchmarkHarness", "CHarness", "ChildProcesses", "Loopback", .nio("NIOCore"),
        .nio("NIOHTTP1"), .nio("NIOPosix"), .system, .tls,
      ]),
    // The programs that tests and the Makefile start.
    .executableTarget(
      name: "TestTool",
      dependencies: cache + [
        "BenchmarkHarness", "ChildProcesses", "HTTPCacheAsyncHTTPClient", "HTTPCacheHummingbird",
        "HTTPCacheProxy", "HTTPCacheRedis", "HTTPCacheURLSession", "Loopback", "TestSupport", .arguments,
        .hummingbird, .log(), .nio("NIOCore"), .nio("NIOHTTP1"), .nio("NIOPosix"), .system,
      ],
      path: "Tests/Support/TestTool", swiftSettings: settings),

    tests(
      "HTTPCacheEngineTests",
      ["BenchmarkHarness", "CacheProperties", "HTTPCacheEngine", .httpTypes, .structuredFields]),
    tests(
      "HTTPCacheStoreTests",
      ["BenchmarkHarness", "CacheMutex", "ChildProcesses", "HTTPCacheStore", "TestTool", .system]),
    tests(
      "HTTPCachingTests", exclude: ["Unit/Policies/Policies.md"],
      cache + [
        "BenchmarkHarness", "HTTPCacheObserving", .log(), .log("InMemoryLogging"),
        .product("MetricsTestKit", "swift-metrics", ["Observing"]), .system,
      ]),
    tests(
      "HTTPCacheURLSessionTests",
      cache + [
        "BenchmarkHarness", "ChildProcesses", "HTTPCacheTesting", "HTTPCacheURLSession", "Loopback",
        "TestTool", .system,
      ]),
    tests(
      "HTTPCacheAsyncHTTPClientTests",
      cache + [
        "HTTPCacheAsyncHTTPClient", "HTTPCacheObserving", "Loopback", .client, .extras("NIOHTTPCompression"),
        .log(), .log("InMemoryLogging"), .nio("NIOCore"), .nio("NIOHTTP1"), .tls,
        .tracing("InMemoryTracing"), .tracing("Instrumentation"), .tracing("Tracing"),
      ]),
    tests(
      "HTTPCacheHummingbirdTests",
      cache + [
        "Catalogue", "HTTPCacheHummingbird", .hummingbird, .log(), .nio("NIOCore"), .nio("NIOHTTP1"),
        .nio("NIOPosix"),
      ]),
    tests(
      "HTTPCacheProxyTests",
      cache + http2 + [
        "BenchmarkHarness", "HTTPCacheObserving", "HTTPCacheProxy", "Loopback", .log(),
        .log("InMemoryLogging"), .nio("NIOCore"), .nio("NIOEmbedded"), .nio("NIOHTTP1"), .nio("NIOPosix"),
        .tls,
      ]),
    tests(
      "HTTPCacheRedisTests",
      cache + [
        "BenchmarkHarness", "HTTPCacheRedis", "Loopback", "TransportSecurity", .hiredis, .nio("NIOCore"),
        .nio("NIOEmbedded"), .nio("NIOPosix"), .system,
      ]),
    tests(
      "CommandTests", exclude: ["Unit/Conformance/Scenarios"],
      cache + [
        "BenchmarkHarness", "CHarness", "CacheBench", "CacheBenchServers", "ChildProcesses",
        "HTTPCacheArchives", "HTTPCacheProxy", "HTTPCacheRedis", "Loopback", "TestTool", "httpcache",
        .arguments, .nio("NIOCore"), .nio("NIOPosix"), .system,
        .product("Histogram", "hdrhistogram-swift", ["Benchmarks"]),
      ]),
    // The package itself: its public declarations, pages and scripts, the code in its pages, and what depends on it.
    tests(
      "PackageTests",
      cache + [
        "CachingClient", "ChildProcesses", "HTTPCacheAsyncHTTPClient", "HTTPCacheHummingbird",
        "HTTPCacheObserving",
        "HTTPCacheProxy", "HTTPCacheRedis", "HTTPCacheTesting", "HTTPCacheURLSession",
        "TestTool", .extras("NIOHTTPTypes"), .extras("NIOHTTPTypesHTTP1"), .hummingbird, .httpTypes, .log(),
        .nio("NIOCore"), .nio("NIOHTTP1"), .nio("NIOPosix"), .tracing("Tracing"),
        .product("HummingbirdTesting", "hummingbird", ["Hummingbird"]),
      ]),
  ] + fuzzing,
  swiftLanguageModes: [.v6]
)
