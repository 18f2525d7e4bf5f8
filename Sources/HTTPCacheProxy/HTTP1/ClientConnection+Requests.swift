// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex
import HTTPCacheObserving
import HTTPCaching
import HTTPTypes
import NIOCore

/// Turns bytes into requests, and passes each to its answerer.
extension ClientConnection {
  func process(_ context: ChannelHandlerContext) {
    // A response that ends during processing calls this method again.
    guard !isProcessing else { return }
    isProcessing = true
    defer {
      isProcessing = false
      // A client that does not take its response has a request in progress.
      if isIdle, context.channel.isWritable { place?.becameIdle(at: machine.progress) }
    }
    while true {
      switch machine.next(isWritable: context.channel.isWritable) {
      case .nothing: return
      case .head:
        do throws(MessageFault) {
          guard let request = try nextRequest() else {
            return perform(machine.headIncomplete(hasBegun: inbound.readableBytes > 0), context)
          }
          answer(request, context)
        } catch {
          return perform(machine.headFailed(error), context)
        }
      case .content: if !readContent(context) { return }
      }
    }
  }

  /// Takes the next piece of the request's content.
  ///
  /// - Returns: `false` without a piece.
  private func readContent(_ context: ChannelHandlerContext) -> Bool {
    do throws(MessageFault) {
      guard let event = try content?.decoder.next(from: &inbound) else { return false }
      switch event {
      case .data(let bytes):
        let action = machine.contentReceived(bytes.readableBytes)
        guard action == .none else {
          perform(action, context)
          return false
        }
        content?.feed.push(bytes)
      case .end(let trailers):
        machine.contentEnded()
        content?.feed.finish(.success(()), trailers: trailers)
        content = nil
      }
      return true
    } catch {
      perform(machine.contentFailed(error), context)
      return false
    }
  }

  /// Returns the next request, once its head has arrived.
  private func nextRequest() throws(MessageFault) -> ClientRequest? {
    // RFC 9112 §2.2: empty lines before a request are skipped.
    while inbound.getInteger(at: inbound.readerIndex, as: UInt16.self) == 0x0D0A {
      inbound.moveReaderIndex(forwardBy: 2)
      reader.reset()
    }
    guard inbound.readableBytes > 0, let length = try reader.findEnd(in: inbound),
      let head = inbound.readSlice(length: length)
    else { return nil }
    let reader = reader
    self.reader.reset()
    do throws(MessageFault) {
      var request = try ClientRequest(
        head, reader, scheme: service == .answers ? context.scheme : "http")
      siteFinder.assign(&request, setsAuthority: service == .answers)
      forwarder?.nameClient(of: &request, context)
      return request
    } catch {
      unreadable = head
      throw error
    }
  }

  private func answer(_ request: ClientRequest, _ context: ChannelHandlerContext) {
    // Reading the limit takes a lock.
    let limit = request.framing == .none ? 0 : self.context.settings.value.limits.requestBytes
    do throws(MessageFault) {
      if service == .answers { try self.context.check(request) }
      let answerer = try machine.requestReceived(
        Exchange.Request(request, service), contentLimit: limit,
        isStopping: self.context.isDraining.load(ordering: .relaxed))
      current = RequestInFlight(request, at: machine.progress)
      answer(request, by: answerer, context)
    } catch {
      perform(machine.headFailed(error), context, of: request)
    }
  }

  func receiveContent(of request: ClientRequest, to feed: BodyFeed) {
    content = IncomingContent(
      feed: feed, decoder: BodyDecoder(request.framing, limits: reader.limits, isResponse: false))
  }

  func contentWanted(_ context: ChannelHandlerContext) {
    guard machine.awaitsContent else { return }
    perform(machine.contentWanted(at: now), context)
    process(context)
    flush(context)
    readOn(context)
  }
}
