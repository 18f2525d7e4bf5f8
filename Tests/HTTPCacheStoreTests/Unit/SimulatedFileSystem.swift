// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import CacheMutex
import Foundation
import SystemPackage
import TestSupport

@testable import HTTPCacheStore

/// A directory in memory: what programs see of it, what of that has reached the disk, and what has not yet.
///
/// When the power goes, what was written since the last sync may be there or not, in any combination: whole writes,
/// or single sectors of them; names that were added or removed, too. See ``afterPowerLoss(_:seed:)``.
final class SimulatedFileSystem: FileSystem {
  enum Change {
    case write(offset: Int, bytes: [UInt8])
    case truncate(Int)
  }

  struct Inode {
    var current: [UInt8] = []
    var durable: [UInt8] = []
    var pending: [Change] = []
    var isLocked = false
  }

  struct State {
    var inodes: [Inode] = []
    var names: [String: Int] = [:]
    var durableNames: [String: Int] = [:]
    var pendingNames: [(name: String, inode: Int?)] = []
    /// So many more operations change something; then nothing does, and all fail.
    var changesLeft: Int?
    var isDead = false
  }

  /// What a loss of power makes of what was not synced.
  enum Loss: CaseIterable {
    /// Nothing of it is there.
    case everything
    /// A part, in the order in which it was written, and the last write of it torn.
    case tail
    /// Each write and each name by chance.
    case some
    /// Each sector by chance.
    case sectors
  }

  private let state: Mutex<State>

  init() {
    state = Mutex(State())
  }

  /// Files that are there, and on the disk.
  init(_ files: [String: [UInt8]]) {
    var initial = State()
    for (name, bytes) in files {
      initial.names[name] = initial.inodes.count
      initial.inodes.append(Inode(current: bytes, durable: bytes))
    }
    initial.durableNames = initial.names
    state = Mutex(initial)
  }

  /// What programs see.
  var files: [String: [UInt8]] {
    state.withLock { state in state.names.mapValues { state.inodes[$0].current } }
  }

  var isDead: Bool { state.withLock { $0.isDead } }

  /// After so many more changes the power is gone.
  func die(afterChanges count: Int) {
    state.withLock { $0.changesLeft = count }
  }

  /// What the disk has when the power comes back.
  func afterPowerLoss(_ loss: Loss, seed: UInt64) -> SimulatedFileSystem {
    var random = SplitMix64(seed: seed)
    return state.withLock { state in
      state.isDead = true
      var names = state.durableNames
      let keptNames = loss == .everything ? 0 : Int.random(in: 0...state.pendingNames.count, using: &random)
      for (index, change) in state.pendingNames.enumerated() {
        let isKept = loss == .tail ? index < keptNames : loss != .everything && Bool.random(using: &random)
        if isKept { names[change.name] = change.inode }
      }
      var contents: [Int: [UInt8]] = [:]
      for (index, inode) in state.inodes.enumerated() {
        contents[index] = Self.survivor(of: inode, loss, &random)
      }
      return SimulatedFileSystem(names.mapValues { contents[$0] ?? [] })
    }
  }

  /// What the disk has for certain, while this goes on.
  var synced: SimulatedFileSystem {
    state.withLock { state in
      SimulatedFileSystem(state.durableNames.mapValues { state.inodes[$0].durable })
    }
  }

  /// The names that were added or removed since the last sync of the directory.
  var pendingNames: [(name: String, isRemoved: Bool)] {
    state.withLock { state in state.pendingNames.map { ($0.name, $0.inode == nil) } }
  }

  /// What the disk has when the power comes back, with all bytes that were written and just these of the ``pendingNames``.
  func afterPowerLoss(keepingNames isKept: (Int) -> Bool) -> SimulatedFileSystem {
    state.withLock { state in
      state.isDead = true
      var names = state.durableNames
      for (index, change) in state.pendingNames.enumerated() where isKept(index) {
        names[change.name] = change.inode
      }
      return SimulatedFileSystem(names.mapValues { state.inodes[$0].current })
    }
  }

  private static func survivor(of inode: Inode, _ loss: Loss, _ random: inout SplitMix64) -> [UInt8] {
    var bytes = inode.durable
    let kept = Int.random(in: 0...inode.pending.count, using: &random)
    for (index, change) in inode.pending.enumerated() {
      switch loss {
      case .everything: return bytes
      case .tail:
        if index < kept {
          apply(change, to: &bytes)
        } else if index == kept, case .write(let offset, let written) = change, !written.isEmpty {
          let part = written.prefix(Int.random(in: 0..<written.count, using: &random))
          apply(.write(offset: offset, bytes: Array(part)), to: &bytes)
        }
      case .some:
        if Bool.random(using: &random) { apply(change, to: &bytes) }
      case .sectors:
        guard case .write(let offset, let written) = change else {
          if Bool.random(using: &random) { apply(change, to: &bytes) }
          continue
        }
        var start = 0
        while start < written.count {
          let end = min(written.count, (offset + start) / 512 * 512 + 512 - offset)
          if Bool.random(using: &random) {
            apply(.write(offset: offset + start, bytes: Array(written[start..<end])), to: &bytes)
          }
          start = end
        }
      }
    }
    return bytes
  }

  private static func apply(_ change: Change, to bytes: inout [UInt8]) {
    switch change {
    case .write(let offset, let written):
      guard !written.isEmpty else { return }
      let end = offset + written.count
      if bytes.count < end { bytes += Array(repeating: 0, count: end - bytes.count) }
      bytes.replaceSubrange(offset..<end, with: written)
    case .truncate(let size):
      if size < bytes.count {
        bytes.removeLast(bytes.count - size)
      } else {
        bytes += Array(repeating: 0, count: size - bytes.count)
      }
    }
  }

  /// By the C library: `lastComponent` would take more time, unoptimised, than all of a store's opening beside it.
  private static func name(_ path: FilePath) -> String {
    path.withPlatformString { text in strrchr(text, 0x2F).map { String(cString: $0 + 1) } ?? "" }
  }

  // MARK: Operations

  fileprivate func access<Result>(
    _ operation: String, _ path: FilePath, changes: Bool = false, _ body: (inout State) -> Result?
  ) throws(FileFailure) -> Result {
    let result: Result? = state.withLock { state in
      if changes, let left = state.changesLeft {
        if left == 0 { state.isDead = true }
        state.changesLeft = left - 1
      }
      return state.isDead ? nil : body(&state)
    }
    guard let result else {
      throw FileFailure(operation: operation, path: path, errno: isDead ? EIO : ENOENT)
    }
    return result
  }

  func createDirectory(_ path: FilePath, withParents: Bool) throws(FileFailure) {
    try access("create directory", path) { _ in () }
  }

  func makePrivate(_ directory: FilePath) throws(FileFailure) {}

  func open(_ path: FilePath, creating: Bool) throws(FileFailure) -> any File {
    let name = Self.name(path)
    let inode = try access("open", path, changes: creating) { state -> Int? in
      if let known = state.names[name] { return known }
      guard creating else { return nil }
      let inode = state.inodes.count
      state.inodes.append(Inode())
      state.names[name] = inode
      state.pendingNames.append((name, inode))
      return inode
    }
    return SimulatedFile(path: path, inode: inode, system: self)
  }

  func list(_ directory: FilePath) throws(FileFailure) -> [String] {
    try access("list", directory) { $0.names.keys.shuffled() }
  }

  func unlink(_ path: FilePath) throws(FileFailure) {
    let name = Self.name(path)
    try access("remove", path, changes: true) { state in
      guard state.names.removeValue(forKey: name) != nil else { return }
      state.pendingNames.append((name, nil))
    }
  }

  /// The time stands still: only the number of writes ends a pause.
  var uptime: Duration { .zero }

  func syncDirectory(_ path: FilePath) throws(FileFailure) {
    try access("sync", path, changes: true) { state in
      state.durableNames = state.names
      state.pendingNames = []
    }
  }

  fileprivate func change(_ inode: Int, _ path: FilePath, _ change: Change) throws(FileFailure) {
    try access("write", path, changes: true) { state in
      Self.apply(change, to: &state.inodes[inode].current)
      state.inodes[inode].pending.append(change)
    }
  }
}

private final class SimulatedFile: File {
  let path: FilePath
  private let inode: Int
  private let system: SimulatedFileSystem
  private let isLocker = Atomic<Bool>(false)

  init(path: FilePath, inode: Int, system: SimulatedFileSystem) {
    self.path = path
    self.inode = inode
    self.system = system
  }

  deinit {
    guard isLocker.load(ordering: .relaxed) else { return }
    try? system.access("unlock", path) { $0.inodes[inode].isLocked = false }
  }

  func size() throws(FileFailure) -> Int {
    try system.access("measure", path) { $0.inodes[inode].current.count }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(FileFailure) -> Int {
    try system.access("read", path) { state in
      let rest = state.inodes[inode].current.dropFirst(offset).prefix(buffer.count)
      buffer.copyBytes(from: rest)
      return rest.count
    }
  }

  func write(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(FileFailure) {
    try system.change(inode, path, .write(offset: offset, bytes: Array(buffer)))
  }

  func truncate(to size: Int) throws(FileFailure) {
    try system.change(inode, path, .truncate(size))
  }

  func sync() throws(FileFailure) {
    try system.access("sync", path, changes: true) { state in
      state.inodes[inode].durable = state.inodes[inode].current
      state.inodes[inode].pending = []
    }
  }

  func tryLock() throws(FileFailure) -> Bool {
    let isOurs = try system.access("lock", path) { state in
      defer { state.inodes[inode].isLocked = true }
      return !state.inodes[inode].isLocked
    }
    if isOurs { isLocker.store(true, ordering: .relaxed) }
    return isOurs
  }
}
