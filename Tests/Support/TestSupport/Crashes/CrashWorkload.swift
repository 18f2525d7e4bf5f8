// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import HTTPCacheStore

/// Random work on a store, each step of which is told before it is begun and when it is done.
package struct CrashWorkload {
  private let store: CacheStore
  private var random: SplitMix64
  private var number: Int
  private let largest: Int

  /// - Parameters:
  ///   - first: the number of the first step; numbers are never used twice on one directory.
  ///   - largest: the most bytes of a body.
  package init(store: CacheStore, seed: UInt64, first: Int, largest: Int) {
    self.store = store
    random = SplitMix64(seed: seed)
    number = first
    self.largest = largest
  }

  /// Does one step.
  ///
  /// - Parameters:
  ///   - begin: called before anything is done.
  ///   - end: called when it is done, with whether the store took it.
  ///   - complain: called with what a read found that must not be.
  package mutating func step(
    begin: (CrashStep) -> Void, end: (_ isDone: Bool) -> Void, complain: (String) -> Void
  ) {
    number += 1
    let step = chosen()
    begin(step)
    switch step {
    case .insert(let number, let key, let variant, let size, let scope):
      let entry = NewEntry(
        key: CrashContent.key(key), variant: VariantID(rawValue: variant),
        metadata: CrashContent.metadata(number: number, revision: number, scope: scope, size: size),
        body: pattern(number, size), storedAt: Int64(number) * 1000,
        tiers: number.isMultiple(of: 3) ? .disk : .all, scopes: [CrashContent.scope(scope)])
      end(store.insert(entry).id != nil)
    case .update(let number, let by, let key):
      let name = CrashContent.key(key)
      for entry in store.lookup(name) {
        guard let content = CrashEntry(entry), content.number == number else { continue }
        let metadata = CrashContent.metadata(
          number: number, revision: by, scope: content.scope, size: content.size)
        end(
          store.updateMetadata(of: entry.id, key: name, metadata: metadata, storedAt: Int64(by) * 1000))
        return
      }
      end(false)
    case .removeKey(let key):
      store.remove(CrashContent.key(key))
      end(true)
    case .removeVariant(let key, let variant):
      store.remove(CrashContent.key(key), variant: VariantID(rawValue: variant))
      end(true)
    case .removeSince(let second):
      store.removeAll(since: Int64(second) * 1000)
      end(true)
    case .removeAll:
      store.removeAll()
      end(true)
    case .mark(let scope):
      store.mark([CrashContent.scope(scope)])
      end(true)
    case .sweep(let rest):
      store.sweep(CrashContent.keys(withRest: rest)) { _ in .remove }
      end(true)
    case .expire(let rest):
      store.sweep(CrashContent.keys(withRest: rest)) { entry in
        let isExpired = entry.metadata.split(separator: UInt8(ascii: " ")).count == 5
        return isExpired ? .keep : .update(metadata: entry.metadata + " 1".utf8)
      }
      end(true)
    case .flush:
      store.flush()
      end(true)
    case .read(let key):
      for entry in store.lookup(CrashContent.key(key)) {
        guard case .wrong = CrashEntry.read(entry) else { continue }
        complain("key \(key), variant \(entry.variant.rawValue), entry \(entry.id.rawValue): wrong bytes")
      }
      end(true)
    case .pin(let key, _):
      end((try? store.pin(CrashContent.key(key))) != nil)
    case .unpin(let key):
      end((try? store.unpin(CrashContent.key(key))) != nil)
    }
  }

  private mutating func chosen() -> CrashStep {
    let key = Int.random(in: 0..<CrashContent.keys, using: &random)
    let variant = UInt64.random(in: 0..<2, using: &random)
    switch Int.random(in: 0..<1000, using: &random) {
    case 0..<450:
      let isLarge = Int.random(in: 0..<12, using: &random) == 0
      let size = Int.random(in: 0...(isLarge ? largest : largest / 16), using: &random)
      return .insert(
        number: number, key: key, variant: variant, size: size,
        scope: Int.random(in: 0..<CrashContent.scopes, using: &random))
    case 450..<550:
      guard let entry = store.lookup(CrashContent.key(key)).first, let content = CrashEntry(entry) else {
        return .read(key: key)
      }
      return .update(number: content.number, by: number, key: key)
    case 550..<650: return .removeKey(key)
    case 650..<720: return .removeVariant(key: key, variant: variant)
    case 720..<735: return .removeSince(number - Int.random(in: 1..<60, using: &random))
    case 735..<738: return .removeAll
    case 738..<760: return .mark(scope: Int.random(in: 0..<CrashContent.scopes, using: &random))
    case 760..<780: return .flush
    case 780..<788: return .sweep(rest: Int.random(in: 0..<CrashContent.rests, using: &random))
    case 788..<800: return .expire(rest: Int.random(in: 0..<CrashContent.rests, using: &random))
    case 800..<830:
      guard let entry = store.lookup(CrashContent.key(key)).first, let content = CrashEntry(entry) else {
        return .read(key: key)
      }
      return .pin(key: key, number: content.number)
    case 830..<845: return .unpin(key: key)
    default: return .read(key: key)
    }
  }
}
