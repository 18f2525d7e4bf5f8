// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking

  /// What this module reads from Foundation on Linux by reflection, because no API publishes it.
  ///
  /// | Property | Type | Read | If it is missing |
  /// |---|---|---|---|
  /// | `URLSessionTask.workQueue` | `DispatchQueue` | for each task whose client is called from another thread | `SessionQueue` makes the calls without the queue |
  /// | `URLSessionTask.session` | an optional `URLSession` | for the first task of each session | the configuration that `caching(with:)` made stands for its only session; after a change of it, tasks fail |
  /// | `URLSessionTask.knownBody` | an enumeration with a `DispatchData`, `Data` or `URL` | for each upload task without `httpBody` | the task fails with `requestBodyStreamExhausted`: an empty upload would be worse |
  /// | `URLSession.workQueue` | `DispatchQueue` | for each session, whose first task found it, and which has the session's settings after that | as for `URLSessionTask.session` |
  /// | `URLSession.multiHandle.queue` | `DispatchQueue` | for each session to origins | much more may arrive in memory after a transfer was cancelled |
  ///
  /// Foundation has them in Swift 6.2 and 6.3. Reflection only looks for names, so another Foundation cannot crash it. A
  /// property that is missing is counted, and logged once. A test fails if this Foundation does not have them.
  ///
  /// What libcurl adds to requests, and which codings it decodes, is read from `curl_version_info`, if the process has it.
  enum FoundationInternals {
    static let session = HiddenProperty<URLSession>("session")
    static let workQueue = HiddenProperty<DispatchQueue>("workQueue")
    private static let knownBody = HiddenProperty<Any>("knownBody")
    private static let multiHandle = HiddenProperty<AnyObject>("multiHandle")
    private static let queue = HiddenProperty<DispatchQueue>("queue")

    /// Returns the queue on which a session receives from its sockets; `nil` if it is missing.
    static func receivingQueue(of session: URLSession) -> DispatchQueue? {
      multiHandle.value(of: session).flatMap { queue.value(of: $0) }
    }

    /// Returns the data that was passed to `uploadTask(with:from:)` or `uploadTask(with:fromFile:)`; `nil` if it is missing.
    static func content(of task: AnyObject) throws -> Data? {
      switch knownBody.value(of: task).flatMap(payload) {
      case let data as DispatchData: Data(data)
      case let data as Data: data
      case let file as URL: try Data(contentsOf: file)
      default: nil
      }
    }

    /// The version of libcurl, such as `8.5.0`, and the codings that it decodes beside gzip and deflate.
    static let libcurl: (version: String?, codings: [String]) = {
      typealias Function = @convention(c) (CInt) -> UnsafeRawPointer?
      // The structure begins with the age, the version, its number, the host and the features, in every libcurl.
      guard let symbol = dlsym(nil, "curl_version_info"),
        let info = unsafeBitCast(symbol, to: Function.self)(0)
      else { return (nil, []) }
      let version = info.load(fromByteOffset: 8, as: UnsafePointer<CChar>.self)
      let features = info.load(fromByteOffset: 32, as: CInt.self)
      return (
        String(cString: version), [(23, "br"), (26, "zstd")].filter { features & (1 << $0.0) != 0 }.map(\.1)
      )
    }()

    /// Returns the associated value of an enumeration's case, through any optionals.
    private static func payload(_ value: Any) -> Any? {
      let mirror = Mirror(reflecting: value)
      guard let child = mirror.children.first else { return nil }
      return mirror.displayStyle == .optional ? payload(child.value) : child.value
    }
  }

  /// A stored property that a class of another module does not publish.
  final class HiddenProperty<Value>: Sendable {
    /// The position of the property in the reflection of an object.
    private struct Place {
      /// The number of superclasses up.
      var depth: Int
      var index: Int
    }

    private let name: String
    /// The positions, by the class of the object.
    private let places = Mutex<[ObjectIdentifier: Place]>([:])
    private let misses = Mutex(0)

    init(_ name: String) { self.name = name }

    /// The number of reads that did not find the property.
    var missCount: Int { misses.withLock { $0 } }

    /// Returns the value; `nil` if the object has no such property of this type.
    func value(of object: AnyObject) -> Value? {
      let type = ObjectIdentifier(type(of: object))
      if let place = places.withLock({ $0[type] }), let value = value(of: object, at: place) { return value }
      var mirror: Mirror? = Mirror(reflecting: object)
      var depth = 0
      while let current = mirror {
        for (index, child) in current.children.enumerated() where child.label == name {
          guard let value = child.value as? Value else { continue }
          places.withLock { $0[type] = Place(depth: depth, index: index) }
          return value
        }
        mirror = current.superclassMirror
        depth += 1
      }
      let isFirst = misses.withLock { count in
        count += 1
        return count == 1
      }
      if isFirst { NSLog("HTTPCacheURLSession: this version of Foundation has no \(name)") }
      return nil
    }

    /// Reads one property only, in 19 µs. A search reads all properties before it, in 49 µs.
    private func value(of object: AnyObject, at place: Place) -> Value? {
      var mirror: Mirror? = Mirror(reflecting: object)
      for _ in 0..<place.depth { mirror = mirror?.superclassMirror }
      guard let children = mirror?.children,
        let index = children.index(children.startIndex, offsetBy: place.index, limitedBy: children.endIndex),
        index != children.endIndex, children[index].label == name
      else { return nil }
      return children[index].value as? Value
    }
  }
#endif
