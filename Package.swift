// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// `make fuzz` sets it: the fuzzer is no part of a normal build, and flags that are needed for it are unsafe to packages
/// that depend on this one.
let isFuzzing = Context.environment["HTTPCACHE_FUZZ"] != nil

/// `make test-thread`, `make test-session-thread` and `make test-address` set it: then there are only the targets whose use from several threads is
/// tested, and for ThreadSanitizer a mutex that it understands.
let sanitizer = Context.environment["HTTPCACHE_SANITIZER"]

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
// For structured fields only: they parse strictly, and the fields of old do not.
let structuredFields: Target.Dependency = .product(
  name: "RawStructuredFieldValues", package: "swift-http-structured-headers")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

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
    .library(name: "HTTPCacheURLSession", targets: ["HTTPCacheURLSession"]),
    .library(name: "HTTPCacheTesting", targets: ["HTTPCacheTesting"]),
    .executable(name: "cache-bench", targets: ["CacheBench"]),
    .executable(name: "httpcache", targets: ["httpcache"]),
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
  ],
  targets: [
    // What is right: RFC 9111 as values and pure functions.
    .target(name: "HTTPCacheEngine", dependencies: [httpTypes, structuredFields], swiftSettings: settings),

    // Where bytes live: memory and disk.
    .systemLibrary(
      name: "CXXHash", pkgConfig: "libxxhash",
      providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]),
    .target(
      name: "HTTPCacheStore",
      dependencies: ["CXXHash", .product(name: "SystemPackage", package: "swift-system")],
      exclude: ["Disk/Format.md"], swiftSettings: settings),

    // The cache: engine, store and a transport.
    .target(
      name: "HTTPCaching",
      dependencies: [
        "CMalloc", "HTTPCacheEngine", "HTTPCacheStore", httpTypes,
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: settings),

    // Its events, as log messages and metrics: apart, so that the cache itself needs no such packages.
    .target(
      name: "HTTPCacheObserving",
      dependencies: [
        "HTTPCaching", "HTTPCacheEngine", "HTTPCacheStore",
        .product(name: "Logging", package: "swift-log"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
      ],
      swiftSettings: settings),

    // Transports, thin.
    .target(
      name: "HTTPCacheURLSession",
      dependencies: [
        "HTTPCaching", "HTTPCacheEngine", "HTTPCacheStore", httpTypes,
        .product(name: "HTTPTypesFoundation", package: "swift-http-types"),
        structuredFields,
      ],
      swiftSettings: settings),

    // Responses without a server: stubs, recordings, archives.
    .target(
      name: "HTTPCacheTesting",
      dependencies: [
        "HTTPCaching", "HTTPCacheEngine", "HTTPCacheURLSession", httpTypes,
        .product(name: "HTTPTypesFoundation", package: "swift-http-types"),
      ],
      exclude: ["Archives/Format.md"], swiftSettings: settings),

    // What a lookup costs at the least, in C: a yardstick of the benchmarks; not a product.
    .target(name: "CFloorTable", dependencies: ["CXXHash"]),
    // What Swift's module of glibc leaves out: counts for the benchmarks, and returning freed memory.
    .systemLibrary(name: "CMalloc"),

    // The cache in front of an origin, over sockets.
    .target(
      name: "HTTPCacheProxy",
      dependencies: [
        "HTTPCaching", "HTTPCacheEngine", "HTTPCacheObserving", "HTTPCacheStore", httpTypes,
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: settings),

    // The front doors.
    .executableTarget(
      name: "CacheBench",
      dependencies: [
        "CFloorTable", "CMalloc",
        "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", "HTTPCacheURLSession", "LoopbackOrigin",
        arguments, httpTypes,
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ],
      swiftSettings: settings),
    .executableTarget(
      name: "httpcache",
      dependencies: [
        "Conformance", "HTTPCacheEngine", "HTTPCacheObserving", "HTTPCacheStore", "HTTPCaching",
        "HTTPCacheProxy",
        "HTTPCacheTesting", "HTTPCacheURLSession", arguments, httpTypes,
        .product(name: "SystemPackage", package: "swift-system"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
        .product(name: "Yams", package: "Yams"),
      ],
      swiftSettings: settings),

    // Scenarios as data, run in virtual time, or in real time over sockets; not a product.
    .target(
      name: "Conformance",
      dependencies: [
        "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", "LoopbackOrigin", httpTypes,
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
      ],
      exclude: ["Format.md"], swiftSettings: settings),

    // An origin server on loopback, for the tests and the benchmarks; not a product.
    .target(
      name: "LoopbackOrigin",
      dependencies: [
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        httpTypes,
      ],
      swiftSettings: settings),

    // What must hold of the engine for whatever input: for the tests and for the fuzzer.
    .target(
      name: "EngineProperties",
      dependencies: [
        "HTTPCacheEngine", httpTypes, structuredFields,
      ],
      path: "Tests/EngineProperties", swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheEngineTests",
      dependencies: ["HTTPCacheEngine", "EngineProperties", httpTypes, structuredFields],
      swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheStoreTests",
      dependencies: [
        "CrashWorkload", "HTTPCacheStore", "StoreCrashChild", "TestSupport",
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: settings),
    // What is done to a store that is going to crash, and what must be true afterwards.
    .target(
      name: "CrashWorkload", dependencies: ["HTTPCacheStore"], path: "Tests/CrashWorkload",
      swiftSettings: settings),
    // The process that the tests kill.
    .executableTarget(
      name: "StoreCrashChild",
      dependencies: [
        "CrashWorkload", "HTTPCacheStore", .product(name: "SystemPackage", package: "swift-system"),
      ],
      path: "Tests/StoreCrashChild", swiftSettings: settings),
    // Traffic through proxy and session for as long as you like, and a look at what grows.
    .executableTarget(
      name: "Soak",
      dependencies: [
        "HTTPCacheEngine", "HTTPCacheProxy", "HTTPCacheStore", "HTTPCacheURLSession", "HTTPCaching",
        "LoopbackOrigin", "TestSupport", arguments,
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tests/Soak", swiftSettings: settings),
    .testTarget(
      name: "SoakTests", dependencies: ["Soak", .product(name: "NIOCore", package: "swift-nio")],
      swiftSettings: settings),
    // What the tests of several targets share.
    .target(
      name: "TestSupport", dependencies: ["HTTPCacheEngine", "HTTPCaching"], path: "Tests/TestSupport",
      swiftSettings: settings),
    .testTarget(
      name: "HTTPCachingTests",
      dependencies: [
        "HTTPCacheEngine", "HTTPCacheStore", "HTTPCaching", "TestSupport", httpTypes,
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      exclude: ["Policies/Policies.md"], swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheURLSessionTests",
      dependencies: ["HTTPCacheURLSession", "LoopbackOrigin", "TestSupport", httpTypes],
      swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheObservingTests",
      dependencies: [
        "HTTPCacheObserving", "HTTPCacheStore", "HTTPCaching", "TestSupport", httpTypes,
        .product(name: "Logging", package: "swift-log"),
        .product(name: "InMemoryLogging", package: "swift-log"),
        .product(name: "MetricsTestKit", package: "swift-metrics"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheTestingTests",
      dependencies: [
        "HTTPCacheTesting", "HTTPCacheURLSession", "HTTPCacheStore", "HTTPCaching", "LoopbackOrigin",
        "TestSupport", httpTypes,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HTTPCacheProxyTests",
      dependencies: [
        "HTTPCacheEngine", "HTTPCacheObserving", "HTTPCacheProxy", "HTTPCacheStore", "HTTPCaching",
        "LoopbackOrigin", "TestSupport",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "InMemoryLogging", package: "swift-log"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ConformanceTests", dependencies: ["Conformance", "HTTPCacheEngine"], exclude: ["Scenarios"],
      swiftSettings: settings),
    .testTarget(
      name: "CacheBenchTests",
      dependencies: [
        "CacheBench", "CFloorTable", "HTTPCacheEngine", "HTTPCacheStore", arguments,
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ],
      swiftSettings: settings),
    // The command as a process: it is built because its tests depend on it.
    .testTarget(
      name: "ProxyCommandTests",
      dependencies: [
        "httpcache", "LoopbackOrigin", "TestSupport", httpTypes,
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ExplainTests",
      dependencies: [
        "httpcache", "Conformance", "TestSupport", "HTTPCacheEngine", "HTTPCacheProxy", "HTTPCacheStore",
        "HTTPCaching",
        arguments,
        httpTypes, .product(name: "SystemPackage", package: "swift-system"),
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)

if isFuzzing {
  let sanitizer: [String] = ["-sanitize=fuzzer"]
  // What is to be explored tells the fuzzer which of its branches were taken.
  for target in package.targets where target.name == "HTTPCacheEngine" {
    target.swiftSettings = settings + [.unsafeFlags(sanitizer)]
  }
  package.targets += [
    .systemLibrary(name: "CLibFuzzer", path: "Fuzz/CLibFuzzer"),
    .executableTarget(
      name: "fuzz", dependencies: ["CLibFuzzer", "EngineProperties", httpTypes], path: "Fuzz/fuzz",
      swiftSettings: settings + [.unsafeFlags(sanitizer)],
      linkerSettings: [
        .unsafeFlags(sanitizer),
        // gold stumbles over the runtime.
        .unsafeFlags(["-use-ld=lld"], .when(platforms: [.linux])),
      ]),
  ]
}

if let sanitizer {
  var tested = [
    "HTTPCacheEngine", "CMalloc", "CXXHash", "HTTPCacheStore", "HTTPCaching", "TestSupport", "CrashWorkload",
    "StoreCrashChild", "HTTPCacheStoreTests", "HTTPCachingTests",
  ]
  // By itself, for it takes SwiftNIO.
  if sanitizer == "session" {
    tested += ["HTTPCacheURLSession", "LoopbackOrigin", "HTTPCacheURLSessionTests"]
  }
  package.products = []
  package.targets.removeAll { !tested.contains($0.name) }
  if sanitizer == "thread" || sanitizer == "session" {
    for target in package.targets where target.type != .system && target.name != "HTTPCacheEngine" {
      target.dependencies.append("SanitizableMutex")
      // Not all that is set otherwise: no file imports the module whose mutex it uses here.
      target.swiftSettings = [.enableUpcomingFeature("ExistentialAny"), .define("SANITIZES_THREADS")]
    }
    package.targets.append(.target(name: "SanitizableMutex", swiftSettings: settings))
  }
}
