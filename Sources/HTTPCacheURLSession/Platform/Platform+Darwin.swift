// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !canImport(FoundationNetworking)
  import Foundation
  import HTTPCaching
  import Network

  /// What the rest of the module asks about Foundation, for Apple platforms. `Platform+Linux.swift` has the same members,
  /// with their documentation.
  enum Platform {
    static let delegateMayAnswer = true

    // Each version of the system adds settings that are not compared.
    static let comparesAllSettings = false

    static let sharesResponses = false

    static let fieldsAreUTF8 = false

    static let findsEqualSpaces = true

    static let readsSessions = false

    static func furtherSettings(of configuration: URLSessionConfiguration) -> [AnyHashable?] {
      var settings: [AnyHashable?] = [
        configuration.tlsMinimumSupportedProtocolVersion.rawValue,
        configuration.tlsMaximumSupportedProtocolVersion.rawValue,
        configuration.waitsForConnectivity, configuration.allowsExpensiveNetworkAccess,
        configuration.allowsConstrainedNetworkAccess, configuration.requiresDNSSECValidation,
        configuration.proxyConfigurations.map { "\($0)" },
      ]
      #if os(iOS)
        settings.append(configuration.multipathServiceType.rawValue)
      #endif
      return settings
    }

    static func session(of task: URLSessionTask) -> URLSession? { nil }

    static func loadingQueue(of session: URLSession) -> DispatchQueue? { nil }

    static func clientThread() -> ClientThread? {
      let loop = ClientRunLoop()
      guard loop.isRunning else {
        // Nothing would make the calls on the thread. At least, they are made in order.
        let queue = DispatchQueue(label: "HTTPCacheURLSession.client")
        return ClientThread { queue.async(execute: $0) }
      }
      return ClientThread { call in
        CFRunLoopPerformBlock(loop.value, loop.modes as CFArray, call)
        CFRunLoopWakeUp(loop.value)
      }
    }

    static func originSession(
      _ configuration: URLSessionConfiguration, _ delegate: any URLSessionDelegate
    ) -> URLSession {
      URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    static func task(
      of session: URLSession, sending content: UploadedContent?, with request: URLRequest
    ) -> URLSessionDataTask {
      var request = request
      switch content {
      case .file(let path, _):
        return session.uploadTask(with: request, fromFile: URL(fileURLWithPath: path.string))
      case .bytes(let bytes): request.httpBody = bytes
      case nil: break
      }
      return session.dataTask(with: request)
    }

    static func explained(_ error: any Error, hasHead: Bool) -> any Error { error }

    static func stream(of content: UploadedContent) -> InputStream {
      switch content {
      case .bytes(let bytes): InputStream(data: bytes)
      case .file(let path, _): InputStream(fileAtPath: path.string) ?? InputStream(data: Data())
      }
    }

    static func urgently(on queue: OperationQueue, _ work: @escaping @Sendable () -> Void) {
      queue.addOperation(work)
    }

    static func postpone(on queue: OperationQueue, _ work: @escaping @Sendable () -> Void) { work() }

    static func watchMemory(of cache: HTTPCache) -> (any Sendable)? { MemoryWatch(cache) }
  }

  /// The run loop of the current thread, and the modes in which it makes the calls: that of `startLoading`, and the default.
  private struct ClientRunLoop: @unchecked Sendable {
    // Unchecked: any thread may give a run loop a block, and wake it up.
    let value = CFRunLoopGetCurrent()
    let modes: [String]
    let isRunning: Bool

    init() {
      let current = RunLoop.current.currentMode
      isRunning = current != nil
      modes = Set<RunLoop.Mode>([.default, current ?? .default]).map(\.rawValue)
    }
  }

  extension URLProtocol {
    func forgetClient() {}
  }

  // Unchecked, as the superclass is. Mac Catalyst has no `diskPath`.
  class EmptyURLCache: URLCache, @unchecked Sendable {
    init(withoutRoom: Void) { super.init(memoryCapacity: 0, diskCapacity: 0, directory: nil) }
  }

  /// Clears the memory of a cache while the system is short of it, until this object is released.
  // Unchecked: the source is made and cancelled once.
  private final class MemoryWatch: @unchecked Sendable {
    private let source: any DispatchSourceMemoryPressure

    init(_ cache: HTTPCache) {
      source = DispatchSource.makeMemoryPressureSource(
        eventMask: [.warning, .critical], queue: .global(qos: .utility))
      source.setEventHandler { [weak cache] in cache?.clearMemory() }
      source.activate()
    }

    deinit { source.cancel() }
  }
#endif
