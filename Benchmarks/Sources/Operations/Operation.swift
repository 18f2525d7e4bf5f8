// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// A piece of the cache that is measured by itself.
public struct Operation: Sendable {
  /// Runs the operation once for each number of the range.
  public typealias Run = (Range<Int>) -> Void

  /// No run has a number this great.
  public static let mostRuns = 20_000

  public let name: String
  /// Makes what the operation works on: the same amount of work, however often it is run.
  public let prepare: @Sendable () throws -> Run

  init(_ name: String, prepare: @escaping @Sendable () throws -> Run) {
    self.name = name
    self.prepare = prepare
  }

  public static func named(_ name: String) -> Operation? { all.first { $0.name == name } }
}

/// Takes a result, so that no compiler drops what made it.
@inline(never) @_optimize(none)
func take<Value>(_ value: borrowing Value) {}
