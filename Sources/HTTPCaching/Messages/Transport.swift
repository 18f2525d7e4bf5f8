import HTTPTypes

/// Sends a request to its origin and gives back the head of the response as soon as it is there, its content behind it.
///
/// It is to throw where no final response came, and to let the body throw where the content broke off: what ends
/// without an error is taken as whole. It must not follow redirects, nor keep a cache of its own.
public typealias Transport =
  @Sendable (_ request: HTTPRequest, _ body: MessageBody) async throws -> TransportResponse

/// What a transport brings back.
public struct TransportResponse: Sendable {
  public var head: HTTPResponse
  public var body: MessageBody

  public init(head: HTTPResponse, body: MessageBody = .empty) {
    self.head = head
    self.body = body
  }
}
