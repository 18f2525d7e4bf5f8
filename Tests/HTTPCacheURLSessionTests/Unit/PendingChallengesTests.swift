// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import Foundation
import HTTPCaching
import TestSupport
import Testing

@testable import HTTPCacheURLSession

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("Challenges that are forwarded to a client", .timeLimit(.minutes(10)))
struct PendingChallengesTests {
  // MARK: - The states

  private enum Step: CaseIterable, Sendable { case answer, withdraw, close }

  @Test("The first of the answer, the end of the request and the end of the load takes a question")
  func once() throws {
    for first in Step.allCases {
      for second in Step.allCases {
        var pending = PendingChallenges<String>()
        pending.open()
        let added = pending.add { "question \($0)" }
        let number = try #require(added?.number)
        let taken = [first, second].map { step in
          switch step {
          case .answer, .withdraw: pending.take(number).map { [$0] } ?? []
          case .close: pending.close()
          }
        }
        #expect(taken == [["question 1"], []])
      }
    }
  }

  @Test("A client is asked while its load runs only, and a number is never used again")
  func numbers() {
    var pending = PendingChallenges<Int>()
    #expect(pending.add { $0 } == nil)
    pending.open()
    #expect([1, 2].map { _ in pending.add { $0 }?.number } == [1, 2])
    #expect(pending.close() == [1, 2])
    #expect(pending.add { $0 } == nil)
    pending.open()
    #expect(pending.add { $0 }?.number == 3)
    #expect(pending.take(1) == nil)
  }

  @Test(
    "A space counts as unchecked until the application answers by itself, and the oldest is forgotten first")
  func unchecked() {
    func space(_ number: Int) -> UncheckedSpaces.Space { .init(Self.space(port: number)) }
    var spaces = UncheckedSpaces()
    spaces.note(space(0), isUnchecked: false)
    #expect(!spaces.contains(space(0)))
    for _ in 1...2 { spaces.note(space(0), isUnchecked: true) }
    #expect(spaces.contains(space(0)) && !spaces.contains(space(1)))
    spaces.note(space(0), isUnchecked: false)
    #expect(!spaces.contains(space(0)))
    for number in 0...UncheckedSpaces.limit { spaces.note(space(number), isUnchecked: true) }
    #expect(!spaces.contains(space(0)) && spaces.contains(space(1)))
  }

  // MARK: - The client

  private static func space(port: Int = 443) -> URLProtectionSpace {
    // On Linux, the constant is unavailable.
    URLProtectionSpace(
      host: "a.example", port: port, protocol: "https", realm: nil,
      authenticationMethod: "NSURLAuthenticationMethodServerTrust")
  }

  /// A protocol object with a load, and a client that is called at once.
  private struct Setting {
    let client = Client()
    let object: URLProtocol
    let loads = ProtocolLoads()
    let load: ClientLoad
    let asking: ChallengeClient
    let challenge: URLAuthenticationChallenge
    let answers = Recorder<URLSession.AuthChallengeDisposition?>()

    init() throws {
      let request = URLRequest(url: try #require(URL(string: "https://a.example/")))
      object = URLProtocol(request: request, cachedResponse: nil, client: client)
      load = try #require(loads.start(object, on: ClientThread { $0() }))
      let binding = CacheBinding(cache: try HTTPCache(), options: .init(), configuration: .ephemeral)
      asking = ChallengeClient(load, binding)
      challenge = URLAuthenticationChallenge(
        protectionSpace: PendingChallengesTests.space(), proposedCredential: nil, previousFailureCount: 0,
        failureResponse: nil, error: nil, sender: ChallengeSender { _ in })
    }

    /// Asks the client; returns the number of the question.
    func ask() -> Int? {
      asking.ask(challenge, refused: 2) { [answers] in answers.add($0?.disposition) }
    }
  }

  private final class Client: NSObject, URLProtocolClient, @unchecked Sendable {
    // Unchecked: the test calls on one thread.
    var challenges: [URLAuthenticationChallenge] = []
    var withdrawn: [URLAuthenticationChallenge] = []
    var endCount = 0
    var inCall: () -> Void = {}

    func urlProtocol(_ object: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
      challenges.append(challenge)
      inCall()
    }

    func urlProtocol(_ object: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
      withdrawn.append(challenge)
    }

    func urlProtocolDidFinishLoading(_ object: URLProtocol) {
      endCount += 1
      inCall()
    }

    func urlProtocol(
      _ object: URLProtocol, didReceive: URLResponse, cacheStoragePolicy: URLCache.StoragePolicy
    ) {}
    func urlProtocol(_ object: URLProtocol, didLoad: Data) {}
    func urlProtocol(_ object: URLProtocol, didFailWithError: any Error) {}
    func urlProtocol(_ object: URLProtocol, wasRedirectedTo: URLRequest, redirectResponse: URLResponse) {}
    func urlProtocol(_ object: URLProtocol, cachedResponseIsValid: CachedURLResponse) {}
  }

  @Test("The client gets the challenge, and the first call of its sender is the answer")
  func dispositions() throws {
    let credential = URLCredential(user: "ann", password: "secret", persistence: .none)
    let calls:
      [(
        (any URLAuthenticationChallengeSender, URLAuthenticationChallenge) -> Void,
        URLSession.AuthChallengeDisposition
      )] = [
        ({ $0.use(credential, for: $1) }, .useCredential),
        ({ $0.continueWithoutCredential(for: $1) }, .useCredential),
        ({ $0.cancel($1) }, .cancelAuthenticationChallenge),
        ({ ($0 as? ChallengeSender)?.performDefaultHandling(for: $1) }, .performDefaultHandling),
        ({ ($0 as? ChallengeSender)?.rejectProtectionSpaceAndContinue(with: $1) }, .rejectProtectionSpace),
      ]
    for (call, disposition) in calls {
      let setting = try Setting()
      #expect(setting.ask() != nil && setting.answers.all == [])
      let asked = try #require(setting.client.challenges.first)
      #expect(asked.protectionSpace === setting.challenge.protectionSpace && asked.previousFailureCount == 2)
      let sender = try #require(asked.sender)
      call(sender, asked)
      #expect(setting.answers.all == [disposition])
      sender.cancel(asked)
      setting.loads.stop(setting.object)
      #expect(setting.answers.all == [disposition])
    }
  }

  @Test(
    "If the load is stopped, also inside the call, its challenges must not go on", arguments: [true, false])
  func stopped(isInside: Bool) throws {
    let setting = try Setting()
    setting.client.inCall = { [loads = setting.loads, object = setting.object] in
      if isInside { loads.stop(object) }
    }
    _ = setting.ask()
    setting.loads.stop(setting.object)
    #expect(setting.answers.all == [nil] && setting.client.challenges.count == 1)
    #expect(setting.ask() == nil && setting.client.challenges.count == 1)
    #expect(setting.answers.all == [nil, nil])
    setting.client.inCall = {}
  }

  @Test("If the request ends before the answer, the client is told, and its answer is ignored")
  func withdrawn() throws {
    let setting = try Setting()
    let number = try #require(setting.ask())
    setting.asking.withdraw(number)
    let asked = try #require(setting.client.challenges.first)
    #expect(setting.client.withdrawn.map { ObjectIdentifier($0) } == [ObjectIdentifier(asked)])
    asked.sender?.cancel(asked)
    setting.asking.withdraw(number)
    #expect(setting.answers.all == [] && setting.client.withdrawn.count == 1)
  }

  @Test(
    "After its load, a client is not asked: a request goes on only where the session left the challenge to Foundation",
    arguments: [true, false, nil])
  func afterwards(isUnchecked: Bool?) throws {
    let setting = try Setting()
    if let isUnchecked {
      setting.client.inCall = { [client = setting.client] in
        guard let asked = client.challenges.first, client.endCount == 0 else { return }
        let sender = asked.sender as? ChallengeSender
        if isUnchecked {
          sender?.performDefaultHandling(for: asked)
        } else {
          sender?.use(URLCredential(user: "a", password: "b", persistence: .none), for: asked)
        }
      }
      _ = setting.ask()
    }
    let before = setting.answers.all.count
    setting.load.end(ClientAnswer())
    #expect(setting.client.endCount == 1)
    #expect(setting.ask() == nil)
    #expect(setting.answers.all.dropFirst(before) == [isUnchecked == true ? .performDefaultHandling : nil])
    #expect(setting.client.challenges.count == (isUnchecked == nil ? 0 : 1))
    setting.client.inCall = {}
  }

  @Test("A load that is stopped inside its last call is not answered again")
  func stoppedInEnd() throws {
    let setting = try Setting()
    setting.client.inCall = { [loads = setting.loads, object = setting.object] in loads.stop(object) }
    for _ in 1...2 { setting.load.end(ClientAnswer()) }
    #expect(setting.client.endCount == 1)
    setting.client.inCall = {}
  }
}
