import ArgumentParser
import HTTPCacheProxy
import HTTPCaching
import Testing

@testable import httpcache

@Suite("Options of the proxy")
struct ProxyOptionsTests {
  private func resolved(_ arguments: [String]) throws -> String {
    let (proxy, cache, _) = try ProxyOptions.parse(arguments).resolved()
    return "\(proxy.listen) \(proxy.origin) \(proxy.admin?.description ?? "-") \(cache.memoryCapacity) "
      + "\(cache.diskCapacity) \(cache.transitCapacity) \(proxy.allowsHalfClosure) \(cache.rules.kind) \(cache.rules.targets) \(cache.rules.servesStaleWhenDisconnected)"
  }

  @Test("A file says what the command line would, which overrides it")
  func file() throws {
    let file = try ConfigurationFile.arguments(
      "# one\n\norigin = http://[::1]:8000/\nmemory=1GB\n listen = 127.0.0.1:81 \nno-stale-when-disconnected\ncache = cdn\ntransit = 8MB\nhalf-closure\n",
      file: "f")
    #expect(
      try resolved(file + ["--memory", "64KiB", "--admin", "localhost:9"])
        == "127.0.0.1:81 [::1]:8000 localhost:9 65536 \(10 << 30) \(8 << 20) true shared [\"cdn-cache-control\"] false"
    )
  }

  @Test(
    "What is wrong in a file is told with its line", arguments: ["= 1", "--origin = x", "a b", "config = f"])
  func badLine(line: String) {
    let error = #expect(throws: ConfigurationError.self) {
      try ConfigurationFile.arguments("# one\n\(line)\n", file: "f")
    }
    #expect(error?.description.hasPrefix("f, line 2: ") == true)
  }

  @Test(
    "What cannot be is refused",
    arguments: [
      [], ["--origin", "127.0.0.1:8000"], ["--origin", "https://a"], ["--origin", "http://a/path"],
      ["--origin", "http://a", "--listen", "8080"], ["--origin", "http://a", "--listen", "a:70000"],
      ["--origin", "http://a", "--name", "a b"], ["--origin", "http://a", "--origin-timeout", "0"],
      ["--origin", "http://a", "--connections", "0"], ["--origin", "http://a", "--scheme", "ftp"],
    ])
  func refused(arguments: [String]) {
    #expect(throws: ConfigurationError.self) { try resolved(arguments) }
  }

  @Test(
    "Sizes are numbers with a unit", arguments: [("0", 0), ("1k", 1024), ("2MB", 2 << 20), ("3GiB", 3 << 30)])
  func sizes(text: String, bytes: Int) {
    #expect(ByteSize(argument: text)?.bytes == bytes)
    #expect(ByteSize(argument: "-" + text) == nil)
    #expect(ByteSize(argument: text + "?") == nil)
  }

  @Test("A number of bytes that no machine has is no size")
  func tooLarge() {
    #expect(ByteSize(argument: "99999999999GB") == nil)
  }
}
