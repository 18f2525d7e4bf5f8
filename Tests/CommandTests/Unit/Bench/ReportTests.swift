// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Testing

@testable import BenchmarkHarness

@Suite(.timeLimit(.minutes(10))) struct ReportTests {
  @Test func `a table aligns text to the left and figures to the right`() {
    var table = Table(title: "Costs", header: ["what", "one", "µs"])
    table.rows = [["get", "1", "12.5"], ["a long name", "1,000"]]
    #expect(
      table.text == """
        Costs
        what           one    µs
        ------------------------
        get              1  12.5
        a long name  1,000

        """)
  }

  @Test func `figures have three digits and a unit`() {
    #expect(Format.nanoseconds.text(0) == "0.00 ns")
    #expect(Format.nanoseconds.text(152.4) == "152 ns")
    #expect(Format.nanoseconds.text(1_790) == "1.79 µs")
    #expect(Format.nanoseconds.text(5_230_000) == "5.23 ms")
    #expect(Format.nanoseconds.text(2e9) == "2.00 s")
    #expect(Format.perSecond.text(203) == "203/s")
    #expect(Format.perSecond.text(84_100) == "84.1 k/s")
    #expect(Format.perSecond.text(6_570_000) == "6.57 M/s")
    #expect(Format.bytes.text(575) == "575 B")
    #expect(Format.bytes.text(3 * 1_073_741_824) == "3.00 GiB")
    #expect(Format.times.text(1_066.4) == "1,066x")
    #expect(Format.share.text(0.764) == "76.4 %")
    #expect(Format.count.text(1_234_567) == "1,234,567")
    #expect(Format.count.text(-100) == "-100")
  }

  @Test func `a ratio gives the factor and whether the target is met`() throws {
    func measured(_ contender: Contender, _ rate: Int, busy: UInt64 = 0) -> BenchMeasurement {
      let round = Round(
        operations: rate, successes: rate, nanoseconds: 1_000_000_000, processorNanoseconds: busy)
      var one = BenchMeasurement(.throughput, .get, contender, rounds: [round])
      one[.threads] = 1
      return one
    }
    let met = try #require(measured(.ours, 500).ratio(to: measured(.urlCache, 100)))
    #expect(met[.timesAsFast] == 5)
    #expect(met.against?.basis == .throughput)
    #expect(measured(.ours, 0).ratio(to: measured(.urlCache, 100)) == nil)
    #expect(met.isMet == true)
    var missed = met
    missed[.timesAsFast] = 4.9
    #expect(missed.isMet == false)
    missed[.target] = nil
    #expect(missed.isMet == nil)
    let byProcessor = measured(.ours, 500, busy: 1_000_000)
      .ratio(to: measured(.urlCache, 100, busy: 1_000_000))
    #expect(byProcessor?.against?.basis == .processorTime)
  }
}
