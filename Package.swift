// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// On Linux libxxhash computes the hashes, elsewhere `SwiftXXH3`, with the same values. `make test-swift-hash` sets the
/// variable, which leaves libxxhash out on Linux too.
let libxxhash: [Target.Dependency] =
  Context.environment["HTTPCACHE_SWIFT_HASH"] == nil
  ? [.target(name: "CXXHash", condition: .when(platforms: [.linux]))] : []

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
// For structured fields only: they parse strictly, and the fields of old do not.
let structuredFields: Target.Dependency = .product(
  name: "RawStructuredFieldValues", package: "swift-http-structured-headers")
// Packages that only some products need are behind a trait: without the trait, they are not even fetched.
let arguments: Target.Dependency = .product(
  name: "ArgumentParser", package: "swift-argument-parser",
  condition: .when(traits: ["CommandLine", "Benchmarks"]))
func nio(_ name: String) -> Target.Dependency {
  .product(
    name: name, package: "swift-nio",
    condition: .when(traits: ["Proxy", "AsyncHTTPClient", "Hummingbird", "Redis"]))
}
func logging(_ name: String) -> Target.Dependency {
  .product(
    name: name, package: "swift-log",
    condition: .when(traits: ["Observing", "AsyncHTTPClient", "Hummingbird", "Redis"]))
}
func asyncHTTPClient(_ name: String = "AsyncHTTPClient", in package: String = "async-http-client")
  -> Target.Dependency
{
  .product(name: name, package: package, condition: .when(traits: ["AsyncHTTPClient"]))
}
func metrics(_ name: String) -> Target.Dependency {
  .product(name: name, package: "swift-metrics", condition: .when(traits: ["Observing"]))
}
func lifecycle(_ name: String) -> Target.Dependency {
  .product(name: name, package: "swift-service-lifecycle", condition: .when(traits: ["Proxy"]))
}
func tracing(_ name: String) -> Target.Dependency {
  .product(name: name, package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"]))
}
let histogram: Target.Dependency = .product(
  name: "Histogram", package: "hdrhistogram-swift", condition: .when(traits: ["Benchmarks"]))
let yams: Target.Dependency = .product(
  name: "Yams", package: "Yams", condition: .when(traits: ["CommandLine"]))

func hummingbird(_ name: String) -> Target.Dependency {
  .product(name: name, package: "hummingbird", condition: .when(traits: ["Hummingbird"]))
}

/// For an origin that speaks TLS and HTTP/2, in tests only.
func tls(_ name: String, in package: String) -> Target.Dependency {
  .product(name: name, package: package, condition: .when(traits: ["TLSTests", "AsyncHTTPClient"]))
}

#if os(macOS)
  let hiredisPackage: String? = "hiredis"
#else
  /// Its headers are in the usual place, and the package manager warns of the flags that pkg-config returns.
  let hiredisPackage: String? = nil
#endif
/// For connections to Redis.
let hiredis: Target.Dependency = .target(name: "CHiredis", condition: .when(traits: ["Redis"]))
let redisTLS: Target.Dependency = .product(
  name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Redis"]))

/// `make fuzz` sets the variable, and the flags without which the fuzzer does not link.
let fuzzing: [Target] =
  Context.environment["HTTPCACHE_FUZZ"] == nil
  ? []
  : [
    .systemLibrary(name: "CLibFuzzer", path: "Fuzz/CLibFuzzer"),
    .executableTarget(
      name: "fuzz", dependencies: ["CLibFuzzer", "EngineProperties", httpTypes], path: "Fuzz/fuzz",
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
    .library(name: "HTTPCacheTracing", targets: ["HTTPCacheTracing"]),
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
    .trait(name: "Tracing", description: "HTTPCacheTracing: spans in swift-distributed-tracing."),
    .trait(
      name: "AsyncHTTPClient", description: "HTTPCacheAsyncHTTPClient: the cache in front of AsyncHTTPClient."
    ),
    .trait(
      name: "Hummingbird",
      description: "HTTPCacheHummingbird: a cache for the routes of a Hummingbird server."),
    .trait(
      name: "Redis",
      description: "HTTPCacheRedis: a tier of the cache that several machines share, on Redis or Valkey."),
    .trait(name: "CommandLine", description: "The command httpcache.", enabledTraits: ["Proxy"]),
    .trait(name: "Benchmarks", description: "The command cache-bench."),
    .trait(
      name: "ServerBenchmarks", description: "The command cache-bench-servers, and what it measures.",
      enabledTraits: ["Benchmarks", "CommandLine", "AsyncHTTPClient", "Hummingbird", "Redis"]),
    .trait(
      name: "TLSTests", description: "The tests of HTTPCacheURLSession over TLS; no product needs it.",
      enabledTraits: ["Proxy"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.2.0"),
    .package(url: "https://github.com/apple/swift-system", from: "1.4.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.80.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
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
    .target(name: "HTTPCacheEngine", dependencies: [httpTypes, structuredFields], swiftSettings: settings),

    // The mutex of all the others.
    .target(name: "CacheMutex", swiftSettings: settings),

    // Where bytes live: memory and disk.
    .systemLibrary(
      name: "CXXHash", pkgConfig: "libxxhash",
      providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
    // What Swift has no name for: prefetching, and blocks for a file.
    .systemLibrary(name: "CStorePrimitives"),
    .target(
      name: "HTTPCacheStore",
      dependencies: libxxhash + [
        "CacheMutex",
        "CStorePrimitives", .product(name: "SystemPackage", package: "swift-system"),
      ],
      exclude: ["Disk/Format.md"], swiftSettings: settings),

    // The cache: engine, store and a transport.
    .target(
      name: "HTTPCaching",
      dependencies: [
        "CacheMutex",
        "CMalloc", "HTTPCacheEngine", "HTTPCacheStore", httpTypes,
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: settings),

    // Its events, as log messages and metrics: apart, so that the cache itself needs no such packages.
    .target(
      name: "HTTPCacheObserving",
      dependencies: [
        "CacheMutex",
        "HTTPCaching", "HTTPCacheEngine", "HTTPCacheStore",
        logging("Logging"),
        metrics("CoreMetrics"),
      ],
      swiftSettings: settings),

    // Its steps, as spans.
    .target(
      name: "HTTPCacheTracing",
      dependencies: [
        "HTTPCaching", "HTTPCacheEngine", httpTypes, tracing("Instrumentation"), tracing("Tracing"),
      ],
      swiftSettings: settings),

    // Transports, thin.
    .target(
      name: "HTTPCacheURLSession",
      dependencies: [
        "CacheMutex",
        "HTTPCaching", "HTTPCacheEngine", "HTTPCacheStore", httpTypes,
        .product(name: "HTTPTypesFoundation", package: "swift-http-types"),
        .product(name: "SystemPackage", package: "swift-system"),
        structuredFields,
      ],
      swiftSettings: settings),

    .target(
      name: "HTTPCacheAsyncHTTPClient",
      dependencies: [
        "CacheMutex",
        "HTTPCaching", "HTTPCacheEngine", httpTypes,
        asyncHTTPClient(),
        asyncHTTPClient("NIOHTTPTypesHTTP1", in: "swift-nio-extras"),
        asyncHTTPClient("NIOHTTPCompression", in: "swift-nio-extras"),
        asyncHTTPClient("NIOSSL", in: "swift-nio-ssl"),
        nio("NIOCore"),
        nio("NIOHTTP1"),
        logging("Logging"),
      ],
      swiftSettings: settings),

    // Responses without a server: stubs, recordings, archives.
    .target(
      name: "HTTPCacheTesting",
      dependencies: [
        "CacheMutex",
        "HTTPCaching", "HTTPCacheEngine", "HTTPCacheURLSession", httpTypes,
        .product(name: "HTTPTypesFoundation", package: "swift-http-types"),
      ],
      exclude: ["Archives/Format.md"], swiftSettings: settings),

    // What a lookup costs at the least, in C: a yardstick of the benchmarks; not a product.
    .target(name: "CFloorTable", dependencies: ["CXXHash"]),
    // The same for fetching values from Redis.
    .target(name: "CHiredisFloor", dependencies: ["CHiredis"], linkerSettings: [.linkedLibrary("hiredis")]),
    // What Swift's module of glibc leaves out: counts for the benchmarks, and returning freed memory.
    .systemLibrary(name: "CMalloc"),

    // The cache in front of an origin, over sockets.
    .target(
      name: "HTTPCacheProxy",
      dependencies: [
        "CacheMutex",
        "HTTPCaching", "HTTPCacheEngine", "HTTPCacheObserving", "HTTPCacheStore", httpTypes,
        nio("NIOCore"),
        nio("NIOPosix"),
        nio("NIOHTTP1"),
        logging("Logging"),
        lifecycle("ServiceLifecycle"),
        lifecycle("UnixSignals"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: settings),

    // The cache of a server's own routes, as a middleware of Hummingbird.
    .target(
      name: "HTTPCacheHummingbird",
      dependencies: [
        "CacheMutex",
        "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", httpTypes,
        hummingbird("Hummingbird"),
        logging("Logging"),
        nio("NIOCore"),
      ],
      swiftSettings: settings),

    // Redis' protocol: libhiredis parses what the server sends.
    .systemLibrary(
      name: "CHiredis", pkgConfig: hiredisPackage,
      providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"])]),
    // The tier that several machines share, and its client of Redis.
    .target(
      name: "HTTPCacheRedis",
      dependencies: [
        "CacheMutex",
        "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", httpTypes,
        hiredis,
        logging("Logging"),
        nio("NIOCore"),
        nio("NIOPosix"),
        redisTLS,
      ],
      swiftSettings: settings),

    // Entry points.
    .executableTarget(
      name: "CacheBench",
      dependencies: [
        "CacheMutex",
        "BenchmarkHarness", "CFloorTable", "CMalloc", "ChildProcesses",
        "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", "HTTPCacheURLSession",
        arguments, httpTypes,
        .product(name: "HTTPTypesFoundation", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    // What needs servers, and what reads results: apart, so that the first figures need few packages.
    .executableTarget(
      name: "CacheBenchServers",
      dependencies: [
        "CacheMutex",
        "BenchmarkHarness", "CHiredisFloor", "ChildProcesses",
        "HTTPCacheAsyncHTTPClient", "HTTPCacheHummingbird", "HTTPCacheRedis", "HTTPCaching", "LoopbackOrigin",
        "LoopbackRedis", arguments, httpTypes,
        hummingbird("Hummingbird"),
        logging("Logging"),
        nio("NIOCore"),
        nio("NIOPosix"),
      ],
      path: "Benchmarks/Servers", swiftSettings: settings),
    .executableTarget(
      name: "httpcache",
      dependencies: [
        "CacheMutex",
        "Conformance", "HTTPCacheEngine", "HTTPCacheObserving", "HTTPCacheStore", "HTTPCaching",
        "HTTPCacheProxy",
        "HTTPCacheTesting", "HTTPCacheURLSession", arguments, httpTypes,
        .product(name: "SystemPackage", package: "swift-system"),
        logging("Logging"),
        lifecycle("ServiceLifecycle"),
        lifecycle("UnixSignals"),
        yams,
        // For `conform --through`, if their traits are enabled too.
        .target(name: "HTTPCacheAsyncHTTPClient", condition: .when(traits: ["AsyncHTTPClient"])),
        asyncHTTPClient("NIOHTTPTypesHTTP1", in: "swift-nio-extras"),
        .target(name: "HTTPCacheHummingbird", condition: .when(traits: ["Hummingbird"])),
        hummingbird("Hummingbird"),
        nio("NIOCore"),
        // For --shared, likewise.
        .target(name: "HTTPCacheRedis", condition: .when(traits: ["Redis"])),
        nio("NIOHTTP1"),
      ],
      swiftSettings: settings),

    // Scenarios as data, run in virtual time, or in real time over sockets; not a product.
    .target(
      name: "Conformance",
      dependencies: [
        "CacheMutex",
        "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", "LoopbackOrigin", httpTypes,
        nio("NIOCore"),
        nio("NIOPosix"),
        nio("NIOHTTP1"),
      ],
      exclude: ["Format.md"], swiftSettings: settings),

    // What both commands of the benchmarks need: rounds, data and results; not a product.
    .target(
      name: "BenchmarkHarness",
      dependencies: [
        "CacheMutex",
        "ChildProcesses", "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", arguments, histogram, httpTypes,
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: settings),

    // An origin server on loopback, for the tests and the benchmarks; not a product.
    .target(
      name: "LoopbackOrigin",
      dependencies: [
        "CacheMutex",
        nio("NIOCore"),
        nio("NIOPosix"),
        nio("NIOHTTP1"),
        httpTypes,
      ],
      swiftSettings: settings),

    // What Swift's modules of C libraries leave out of posix_spawn.
    .systemLibrary(name: "CSpawn"),
    // Programs that run beside this one, for the tests and the benchmarks; not a product.
    .target(name: "ChildProcesses", dependencies: ["CacheMutex", "CSpawn"], swiftSettings: settings),
    .testTarget(
      name: "ChildProcessesTests", dependencies: ["ChildProcesses"],
      path: "Tests/Integration/ChildProcessesTests", swiftSettings: settings),
    // Processes of redis-server on loopback, for the tests and the benchmarks; not a product.
    .target(
      name: "LoopbackRedis", dependencies: ["CacheMutex", "ChildProcesses", "HTTPCacheRedis"],
      swiftSettings: settings),

    // What must hold of the engine for whatever input: for the tests and for the fuzzer.
    .target(
      name: "EngineProperties",
      dependencies: [
        "HTTPCacheEngine", httpTypes, structuredFields,
      ],
      path: "Fuzz/EngineProperties", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheEngineTests",
      dependencies: ["HTTPCacheEngine", "EngineProperties", httpTypes, structuredFields],
      path: "Tests/Unit/HTTPCacheEngineTests", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheStoreTests",
      dependencies: [
        "CacheMutex",
        "CrashWorkload", "HTTPCacheStore", "TestSupport",
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Tests/Unit/HTTPCacheStoreTests", swiftSettings: settings),
    .testTarget(
      name: "StoreCrashTests",
      dependencies: [
        "ChildProcesses", "CrashWorkload", "HTTPCacheStore", "StoreCrashChild", "TestSupport",
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Tests/Integration/StoreCrashTests", swiftSettings: settings),
    // What is done to a store that is going to crash, and what must be true afterwards.
    .target(
      name: "CrashWorkload",
      dependencies: ["HTTPCacheStore", .product(name: "SystemPackage", package: "swift-system")],
      path: "Tests/Support/CrashWorkload", swiftSettings: settings),
    // The process that the tests kill.
    .executableTarget(
      name: "StoreCrashChild",
      dependencies: [
        "CrashWorkload", "HTTPCacheStore", .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Tests/Support/StoreCrashChild", swiftSettings: settings),
    // Traffic through proxy and session for as long as you like, and a look at what grows.
    .executableTarget(
      name: "Soak",
      dependencies: [
        "CacheMutex",
        "ChildProcesses", "HTTPCacheAsyncHTTPClient", "HTTPCacheEngine", "HTTPCacheHummingbird",
        "HTTPCacheProxy", "HTTPCacheStore", "HTTPCacheURLSession", "HTTPCaching", "LoopbackOrigin",
        "TestSupport", arguments, httpTypes,
        hummingbird("Hummingbird"),
        nio("NIOCore"),
        nio("NIOHTTP1"),
        nio("NIOPosix"),
        logging("Logging"),
      ],
      path: "Tests/Support/Soak", swiftSettings: settings),
    // Proxies with a shared tier under faults: killed, stopped, cut off.
    .executableTarget(
      name: "FleetDriver",
      dependencies: [
        "CacheMutex",
        "ChildProcesses", "HTTPCacheProxy", "HTTPCacheRedis", "HTTPCaching", "LoopbackOrigin",
        "LoopbackRedis", "TestSupport", arguments, httpTypes,
        nio("NIOCore"),
        nio("NIOPosix"),
        logging("Logging"),
      ],
      path: "Tests/Support/FleetDriver", swiftSettings: settings),
    .testTarget(
      name: "SoakTests", dependencies: ["ChildProcesses", "Soak", nio("NIOCore")],
      path: "Tests/Long/SoakTests", swiftSettings: settings),
    // Counts the open descriptors at the end of a process of tests.
    .target(name: "CDescriptorCheck", path: "Tests/Support/CDescriptorCheck"),
    // What the tests of several targets share.
    .target(
      name: "TestSupport",
      dependencies: [
        "CacheMutex", "CDescriptorCheck", "ChildProcesses", "HTTPCacheEngine", "HTTPCaching", httpTypes,
      ],
      path: "Tests/Support/TestSupport", swiftSettings: settings),
    .testTarget(
      name: "HTTPCachingTests",
      dependencies: [
        "CacheMutex",
        "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", "TestSupport", httpTypes,
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Tests/Unit/HTTPCachingTests", exclude: ["Policies/Policies.md"], swiftSettings: settings),
    // What is left of an exchange when it has ended: nothing announces that.
    .testTarget(
      name: "HTTPCachingReleaseTests",
      dependencies: [
        "CacheMutex",
        "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", "TestSupport", httpTypes,
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Tests/Integration/HTTPCachingReleaseTests", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheURLSessionTests",
      dependencies: [
        "CacheMutex",
        "HTTPCacheURLSession", "TestSupport", httpTypes,
        .product(name: "HTTPTypesFoundation", package: "swift-http-types"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Tests/Unit/HTTPCacheURLSessionTests", swiftSettings: settings),
    // A session with a cache and an origin, and what many requests do to them.
    .target(
      name: "SessionFixture",
      dependencies: [
        "CacheMutex", "HTTPCacheURLSession", "HTTPCaching", "LoopbackOrigin", "TestSupport", httpTypes,
      ],
      path: "Tests/Support/SessionFixture", swiftSettings: settings),
    // The same module, with sessions that load over sockets.
    .testTarget(
      name: "HTTPCacheURLSessionLoadingTests",
      dependencies: [
        "CacheMutex", "HTTPCacheURLSession", "LoopbackOrigin", "SessionFixture", "TestSupport", httpTypes,
      ],
      path: "Tests/Integration/HTTPCacheURLSessionLoadingTests", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheURLSessionStressTests",
      dependencies: ["HTTPCacheURLSession", "LoopbackOrigin", "SessionFixture", "TestSupport", httpTypes],
      path: "Tests/Long/HTTPCacheURLSessionStressTests", swiftSettings: settings),
    // The same sessions with https: apart, as BoringSSL takes a while to compile.
    .testTarget(
      name: "HTTPCacheURLSessionTLSTests",
      dependencies: [
        "ChildProcesses", "LoopbackOrigin", "SecureOrigin", "TLSClient", "TestSupport", httpTypes,
      ],
      path: "Tests/Integration/HTTPCacheURLSessionTLSTests", swiftSettings: settings),
    // The process that the tests start with root certificates of their own.
    .executableTarget(
      name: "TLSClient", dependencies: ["HTTPCacheURLSession"], path: "Tests/Support/TLSClient",
      swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheAsyncHTTPClientTests",
      dependencies: [
        "CacheMutex",
        "HTTPCacheAsyncHTTPClient", "HTTPCacheStore", "LoopbackOrigin", "SecureOrigin", "TestSupport",
        httpTypes,
        nio("NIOCore"),
        nio("NIOHTTP1"),
        asyncHTTPClient("NIOHTTPCompression", in: "swift-nio-extras"),
        asyncHTTPClient("NIOSSL", in: "swift-nio-ssl"),
      ],
      path: "Tests/Integration/HTTPCacheAsyncHTTPClientTests", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheAsyncHTTPClientLargeTests",
      dependencies: [
        "HTTPCacheAsyncHTTPClient", "LoopbackOrigin", "TestSupport", nio("NIOCore"), nio("NIOHTTP1"),
      ],
      path: "Tests/Long/HTTPCacheAsyncHTTPClientLargeTests", swiftSettings: settings),
    // An origin that speaks TLS and HTTP/2, and its certificate.
    .target(
      name: "SecureOrigin",
      dependencies: [
        "CacheMutex",
        "LoopbackOrigin", "TestSupport", httpTypes,
        nio("NIOCore"),
        nio("NIOPosix"),
        nio("NIOHTTP1"),
        tls("NIOSSL", in: "swift-nio-ssl"),
        tls("NIOHTTP2", in: "swift-nio-http2"),
      ],
      path: "Tests/Support/SecureOrigin", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheObservingTests",
      dependencies: [
        "CacheMutex",
        "HTTPCacheObserving", "HTTPCacheStore", "HTTPCaching", "TestSupport", httpTypes,
        logging("Logging"),
        logging("InMemoryLogging"),
        metrics("MetricsTestKit"),
      ],
      path: "Tests/Unit/HTTPCacheObservingTests", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheTracingTests",
      dependencies: [
        "HTTPCacheAsyncHTTPClient", "HTTPCacheStore", "HTTPCacheTracing", "HTTPCaching", "LoopbackOrigin",
        "TestSupport", httpTypes,
        asyncHTTPClient(), nio("NIOCore"), tracing("InMemoryTracing"), tracing("Instrumentation"),
        tracing("Tracing"),
      ],
      path: "Tests/Integration/HTTPCacheTracingTests", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheTestingTests",
      dependencies: [
        "CacheMutex",
        "HTTPCacheTesting", "HTTPCacheURLSession", "HTTPCacheStore", "HTTPCaching", httpTypes,
      ],
      path: "Tests/Unit/HTTPCacheTestingTests", swiftSettings: settings),
    // The same behind a URLSession, which has threads and timeouts of its own.
    .testTarget(
      name: "HTTPCacheTestingSessionTests",
      dependencies: [
        "HTTPCacheTesting", "HTTPCacheURLSession", "HTTPCacheStore", "HTTPCaching", "LoopbackOrigin",
        "TestSupport", httpTypes,
      ],
      path: "Tests/Integration/HTTPCacheTestingSessionTests", swiftSettings: settings),
    // The proxy without sockets, in virtual time.
    .testTarget(
      name: "HTTPCacheProxyTests",
      dependencies: [
        "CacheMutex",
        "HTTPCacheEngine", "HTTPCacheObserving", "HTTPCacheProxy", "HTTPCacheStore", "HTTPCaching",
        "TestSupport", httpTypes,
        nio("NIOCore"),
        nio("NIOEmbedded"),
        nio("NIOHTTP1"),
        logging("Logging"),
        logging("InMemoryLogging"),
      ],
      path: "Tests/Unit/HTTPCacheProxyTests", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheProxySocketTests",
      dependencies: [
        "CacheMutex",
        "HTTPCacheEngine", "HTTPCacheObserving", "HTTPCacheProxy", "HTTPCacheStore", "HTTPCaching",
        "LoopbackOrigin", "TestSupport", httpTypes,
        nio("NIOCore"),
        nio("NIOPosix"),
        logging("Logging"),
        logging("InMemoryLogging"),
      ],
      path: "Tests/Integration/HTTPCacheProxySocketTests", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheHummingbirdTests",
      dependencies: [
        "CacheMutex",
        "HTTPCacheEngine", "HTTPCacheHummingbird", "HTTPCacheStore", "HTTPCaching", "TestSupport", httpTypes,
        hummingbird("Hummingbird"),
        logging("Logging"),
        nio("NIOCore"),
        nio("NIOHTTP1"),
        nio("NIOPosix"),
      ],
      path: "Tests/Integration/HTTPCacheHummingbirdTests", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheRedisTests",
      dependencies: [
        "CacheMutex",
        "HTTPCacheRedis", "HTTPCacheStore", "TestSupport", hiredis, nio("NIOCore"), nio("NIOEmbedded"),
      ],
      path: "Tests/Unit/HTTPCacheRedisTests", swiftSettings: settings),
    // The same with sockets and processes of redis-server.
    .testTarget(
      name: "HTTPCacheRedisServerTests",
      dependencies: [
        "CacheMutex",
        "HTTPCacheEngine", "HTTPCacheRedis", "HTTPCacheStore", "HTTPCaching", "LoopbackRedis",
        "TestSupport", httpTypes,
        nio("NIOCore"),
        nio("NIOPosix"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Tests/Integration/HTTPCacheRedisServerTests", swiftSettings: settings),
    .testTarget(
      name: "ConformanceTests", dependencies: ["Conformance", "HTTPCacheEngine"],
      path: "Tests/Unit/ConformanceTests", exclude: ["Scenarios"],
      swiftSettings: settings),
    .testTarget(
      name: "CacheBenchTests",
      dependencies: [
        "BenchmarkHarness", "CacheBench", "CacheBenchServers", "CFloorTable", "ChildProcesses",
        "HTTPCacheEngine", "HTTPCacheStore", "TestSupport",
        arguments, histogram, httpTypes,
      ],
      path: "Tests/Unit/CacheBenchTests", swiftSettings: settings),
    // What measures, by the clock and over sockets, and what starts processes.
    .testTarget(
      name: "BenchmarkServersTests",
      dependencies: [
        "CacheMutex",
        "BenchmarkHarness", "CacheBench", "CacheBenchServers", "ChildProcesses", "HTTPCacheStore", arguments,
      ],
      path: "Tests/Integration/BenchmarkServersTests", swiftSettings: settings),
    // The command as a process: it is built because its tests depend on it.
    .testTarget(
      name: "ProxyCommandTests",
      dependencies: [
        "ChildProcesses", "HTTPCacheRedis", "httpcache", "LoopbackOrigin", "LoopbackRedis", "TestSupport",
        httpTypes,
        nio("NIOCore"),
        nio("NIOPosix"),
      ],
      path: "Tests/Integration/ProxyCommandTests", swiftSettings: settings),
    .testTarget(
      name: "ExplainTests",
      dependencies: [
        "httpcache", "Conformance", "TestSupport", "HTTPCacheEngine", "HTTPCacheProxy", "HTTPCacheStore",
        "HTTPCaching", "OptionsReference",
        arguments,
        httpTypes, .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Tests/Unit/ExplainTests", swiftSettings: settings),
    // What the command does on sockets: scenarios through the adapters, and a recording.
    .testTarget(
      name: "ConformAdapterTests", dependencies: ["httpcache", "Conformance", "TestSupport", arguments],
      path: "Tests/Integration/ConformAdapterTests", swiftSettings: settings),
    // The code in the README and in the articles, compiled.
    .testTarget(
      name: "SnippetTests",
      dependencies: [
        "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", "HTTPCacheURLSession", "HTTPCacheTesting",
        "HTTPCacheObserving", "HTTPCacheRedis", "HTTPCacheProxy", "HTTPCacheHummingbird",
        "HTTPCacheAsyncHTTPClient",
        "HTTPCacheTracing", httpTypes, logging("Logging"),
        hummingbird("Hummingbird"),
        nio("NIOCore"),
        nio("NIOHTTP1"),
        tracing("Tracing"),
      ],
      path: "Tests/Unit/SnippetTests", swiftSettings: settings),
    // Writes the pages about the options of the command, from its help.
    .executableTarget(
      name: "OptionsReference", path: "Tests/Support/OptionsReference", swiftSettings: settings),
    // Writes the list of public declarations.
    .executableTarget(name: "APIDigest", path: "Tests/Support/APIDigest", swiftSettings: settings),
    // The package itself: its public declarations, versions, licence, and the links of its pages.
    .testTarget(
      name: "PackageTests", dependencies: ["APIDigest", "HTTPCaching", "TestSupport"],
      path: "Tests/Unit/PackageTests", swiftSettings: settings
    ),
    .testTarget(
      name: "PackageScriptTests", dependencies: ["TestSupport"],
      path: "Tests/Integration/PackageScriptTests", swiftSettings: settings),
    // What packages that depend on this one resolve and build.
    .testTarget(
      name: "PackageBuildTests", dependencies: ["TestSupport"],
      path: "Tests/Long/PackageBuildTests", swiftSettings: settings),
  ] + fuzzing,
  swiftLanguageModes: [.v6]
)
