// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import Testing

@testable import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking

  @Suite("What Foundation does not publish", .timeLimit(.minutes(10)))
  struct FoundationInternalsTests {
    private class Base {
      let other = 1
      let hidden: String
      init(_ hidden: String) { self.hidden = hidden }
    }

    private final class Derived: Base {
      let own = 2
    }

    private final class Changed {
      let hidden = 3
    }

    @Test("A property is found in a superclass, and again in the next object")
    func found() {
      let property = HiddenProperty<String>("hidden")
      for value in ["a", "b"] { #expect(property.value(of: Derived(value)) == value) }
      #expect(property.value(of: Base("c")) == "c")
      #expect(property.missCount == 0)
    }

    @Test("A property that is missing, or has another type, is nil, and counted")
    func missing() {
      let property = HiddenProperty<String>("hidden")
      #expect(property.value(of: Changed()) == nil)
      #expect(property.value(of: property) == nil)
      #expect(property.missCount == 2)
    }

    private enum Content {
      case data(Data)
      case dispatch(DispatchData)
      case number(Int)
      case none
    }

    private final class Upload {
      let knownBody: Content?
      init(_ content: Content?) { knownBody = content }
    }

    @Test("The content of an upload is data of either kind; everything else is missing")
    func content() throws {
      let data = Data("abc".utf8)
      let known: [(AnyObject, Data?)] = [
        (Upload(.data(data)), data),
        (Upload(.dispatch(data.withUnsafeBytes { DispatchData(bytes: $0) })), data),
        (Upload(.number(1)), nil), (Upload(Content.none), nil), (Upload(nil), nil), (Derived("a"), nil),
      ]
      for (task, expected) in known { #expect(try FoundationInternals.content(of: task) == expected) }
    }

    @Test("This version of Foundation has the properties")
    func present() throws {
      let session = URLSession(configuration: .ephemeral)
      defer { session.invalidateAndCancel() }
      let url = try #require(URL(string: "http://a.example/"))
      let (content, request) = (Data("abc".utf8), URLRequest(url: url))
      let tasks = [session.dataTask(with: url), session.uploadTask(with: request, from: content)]
      for task in tasks { #expect(HiddenProperty<DispatchQueue>("workQueue").value(of: task) != nil) }
      for task in tasks { #expect(FoundationInternals.session.value(of: task) === session) }
      #expect(FoundationInternals.workQueue.value(of: session) != nil)
      #expect(Platform.readsSessions)
      #expect(FoundationInternals.libcurl.version != nil)
      #expect(try TaskBody.request(request, of: tasks[1]).httpBody == content)
      #expect(FoundationInternals.receivingQueue(of: session) != nil)
    }

    @Test("An upload whose content cannot be read fails, instead of being empty")
    func upload() throws {
      let request = URLRequest(url: try #require(URL(string: "http://a.example/")))
      let error = #expect(throws: URLError.self) {
        try TaskBody.request(request, of: URLSessionUploadTask())
      }
      #expect(error?.code == .requestBodyStreamExhausted)
    }

    @Test("Without the queue of a task, the calls are made")
    func withoutQueue() async {
      await withCheckedContinuation { continuation in
        SessionQueue.hold(of: nil) { calls in
          calls.finish()
          continuation.resume()
        }
      }
    }
  }
#endif
