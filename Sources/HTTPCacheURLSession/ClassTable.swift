// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import CacheMutex

/// Makes a class for each of any number of types.
package protocol ClassMaker {
  associatedtype Base: AnyObject

  /// Returns a distinct class for each argument: a generic one.
  static func makeClass<Digits>(_ digits: Digits.Type) -> Base.Type
}

/// Values, each with a class made for it.
///
/// A session makes its protocol objects from their class alone, and asks the class whether it answers a request. So a value
/// is found by its class. The class stays for the life of the process, as every class does, and so does the
/// value.
package final class ClassTable<Maker: ClassMaker, Value: Sendable>: Sendable {
  private struct State {
    var values: [ObjectIdentifier: Value] = [:]
    var count = 0
  }

  private let state = Mutex(State())

  package init() {}

  /// Makes a class for a value.
  package func makeClass(for value: Value) -> Maker.Base.Type {
    state.withLock { state in
      let made = Self.makeClass(number: state.count, Zero.self)
      state.count += 1
      state.values[ObjectIdentifier(made)] = value
      return made
    }
  }

  package func value(of type: Maker.Base.Type) -> Value? {
    state.withLock { $0.values[ObjectIdentifier(type)] }
  }

  // A generic class with another argument is another class, and arguments can be nested at run time. So each number,
  // spelt in binary, has its own class, without a limit and without the Objective-C runtime.
  private static func makeClass<Digits>(number: Int, _ digits: Digits.Type) -> Maker.Base.Type {
    guard number > 0 else { return Maker.makeClass(digits) }
    return number.isMultiple(of: 2)
      ? makeClass(number: number / 2, EvenBit<Digits>.self)
      : makeClass(number: number / 2, OddBit<Digits>.self)
  }
}

private enum Zero {}
private enum EvenBit<Rest> {}
private enum OddBit<Rest> {}
