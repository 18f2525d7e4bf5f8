import HTTPCaching
import NIOCore
import NIOPosix

/// The admin port.
final class AdminServer: Sendable {
  private let context: ProxyContext

  init(_ context: ProxyContext) {
    self.context = context
  }

  func bind(_ address: Address, group: any EventLoopGroup) async throws -> any Channel {
    throw ConfigurationError("no admin port yet")
  }
}
