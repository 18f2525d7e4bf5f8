import HTTPCacheEngine
import HTTPCaching
import HTTPTypes

/// What the engine makes of a response that has just come: ten fields, parsed, and whether and how long it may be stored.
struct JudgeWorkload {
  let lanes: [HotLane]
  let arrivals = Arrivals([0])

  init() throws {
    let engine = CacheEngine(.init(kind: .private))
    let now = SystemCacheClock.shared.now
    let request = Dataset.request(0)
    guard
      case .forward(let forwarding) = engine.plan(
        for: request, policy: .useProtocolCachePolicy, candidates: [], now: now)
    else { throw BenchError.unprepared("the engine does not forward a request for what is not stored") }
    var head = Dataset.head(1024)
    head.headerFields[.date] = "Tue, 02 Jan 2024 03:04:05 GMT"
    head.headerFields[.age] = "3"
    let exchange = CacheEngine.Exchange(
      forwarding: forwarding, candidates: [], result: .response(head), requestTime: now, responseTime: now)
    lanes = [
      HotLane(.ours, .judge) { _ in
        { _ in
          guard case .store = engine.outcome(of: exchange).storage else { return false }
          return true
        }
      }
    ]
  }
}
