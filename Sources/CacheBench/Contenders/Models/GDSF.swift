// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

/// Greedy-Dual-Size-Frequency (Cherkasova, HP Laboratories 1998), which aims at hits by requests.
///
/// The priority of an entry is `age + uses / size`, where `age` is the priority of the last evicted entry. The entry with the
/// lowest priority is evicted; of equal ones, the entry whose priority was set first.
final class GDSF: ReplayedCache {
  private struct Entry {
    var bytes: Int
    var uses = 0
    /// The number of the request that set the priority.
    var request = 0
  }

  /// The priority of an entry when it was requested.
  private struct Rank: Comparable {
    var priority: Double
    var request: Int
    var key: Int

    static func < (one: Rank, other: Rank) -> Bool {
      (one.priority, one.request) < (other.priority, other.request)
    }
  }

  private let capacity: Int
  private var bytes = 0
  private var entries: [Int: Entry] = [:]
  /// A rank for each request. Only the last rank of an entry counts.
  private var ranks = Heap<Rank>()
  private var age = 0.0
  private var requests = 0

  init(capacity: Int) { self.capacity = capacity }

  func access(_ key: Int, bytes newBytes: Int) -> Bool {
    let known = entries[key]
    guard newBytes <= capacity || known != nil else { return false }
    if known == nil {
      while bytes + newBytes > capacity { evict() }
      bytes += newBytes
    }
    requests += 1
    var entry = known ?? Entry(bytes: newBytes)
    entry.uses += 1
    entry.request = requests
    entries[key] = entry
    let priority = age + Double(entry.uses) / Double(max(1, entry.bytes))
    ranks.insert(Rank(priority: priority, request: requests, key: key))
    return known != nil
  }

  /// Evicts the entry with the lowest priority, or drops a rank that does not count.
  private func evict() {
    guard let least = ranks.removeLeast(), let entry = entries[least.key], entry.request == least.request
    else { return }
    age = least.priority
    entries[least.key] = nil
    bytes -= entry.bytes
  }
}

/// A binary heap, which gives its least element first.
struct Heap<Element: Comparable> {
  private var elements: [Element] = []

  mutating func insert(_ element: Element) {
    elements.append(element)
    var place = elements.count - 1
    while place > 0, elements[place] < elements[(place - 1) / 2] {
      elements.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  mutating func removeLeast() -> Element? {
    guard !elements.isEmpty else { return nil }
    elements.swapAt(0, elements.count - 1)
    let least = elements.removeLast()
    var place = 0
    while 2 * place + 1 < elements.count {
      var child = 2 * place + 1
      if child + 1 < elements.count, elements[child + 1] < elements[child] { child += 1 }
      guard elements[child] < elements[place] else { break }
      elements.swapAt(place, child)
      place = child
    }
    return least
  }
}
