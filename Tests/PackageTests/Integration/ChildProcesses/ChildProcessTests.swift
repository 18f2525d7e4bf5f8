// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ChildProcesses
import Foundation
import TestSupport
import Testing

/// One after the other: the descriptors and the children of the process are counted.
@Suite("Child processes", .serialized, .timeLimit(.minutes(5)))
struct ChildProcessTests {
  /// A child that ends when its input does.
  private static func waiting() throws -> ChildProcess {
    let child = try ChildProcess("cat", input: .pipe)
    child.write("started\n".utf8)
    return child
  }

  private static func shell(
    _ script: String, _ arguments: [String] = [], environment: [String: String]? = nil,
    directory: String? = nil, input: ChildProcess.Input = .null, output: ChildProcess.Output = .pipe,
    errors: ChildProcess.Output? = nil
  ) throws -> ChildProcess {
    try ChildProcess(
      "/bin/sh", ["-c", script, "sh"] + arguments, environment: environment, directory: directory,
      input: input,
      output: output, errors: errors)
  }

  /// The ends of pipes that this process has open. Other descriptors may come and go, for timers.
  private static var openPipes: [Int32] {
    (0..<Int32(4096)).filter { descriptor in
      var information = stat()
      return fstat(descriptor, &information) == 0 && information.st_mode & S_IFMT == S_IFIFO
    }
  }

  // MARK: - Starting

  @Test("A child gets its arguments, its variables and its directory")
  func parameters() async throws {
    let child = try Self.shell(
      #"printf '%s|' "$@"; echo "$GREETING"; pwd"#, ["a b", "", "ü"], environment: ["GREETING": "hello"],
      directory: "/")
    #expect(try await child.end() == .exited(0))
    #expect(child.output.text == "a b||ü|hello\n/\n")
  }

  @Test("A missing program and a missing directory are errors that name them")
  func missing() {
    let missing = #expect(throws: ChildProcessError.self) { try ChildProcess("/absent/program") }
    #expect(missing?.description == "cannot start /absent/program: No such file or directory")
    let noPlace = #expect(throws: ChildProcessError.self) {
      try ChildProcess("/bin/sh", directory: "/absent")
    }
    #expect(noPlace?.description == "cannot start /bin/sh in /absent: No such file or directory")
    let noLog = #expect(throws: ChildProcessError.self) {
      try ChildProcess("/bin/sh", output: .file("/absent/log"))
    }
    #expect(
      noLog?.description == "cannot start /bin/sh: cannot write /absent/log: No such file or directory")
  }

  @Test("A child has default signals, and none is blocked")
  func signals() async throws {
    let former = Foundation.signal(SIGUSR1, SIG_IGN)
    defer { Foundation.signal(SIGUSR1, former) }
    let ignored = try Self.shell("kill -s USR1 $$; echo survived")
    #expect(try await ignored.end() == .signalled(SIGUSR1))

    let blocked = try Self.withBlocked(SIGUSR2) { try Self.shell("kill -s USR2 $$; echo survived") }
    #expect(try await blocked.end() == .signalled(SIGUSR2))
  }

  /// Blocks a signal in this thread.
  private static func withBlocked<Result>(_ number: Int32, _ body: () throws -> Result) rethrows -> Result {
    var (set, former) = (sigset_t(), sigset_t())
    sigemptyset(&set)
    sigaddset(&set, number)
    pthread_sigmask(SIG_BLOCK, &set, &former)
    defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
    return try body()
  }

  #if os(Linux)
    @Test("A child starts while 1,500 files are open, and inherits none of them")
    func manyDescriptors() async throws {
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let former = limit
      limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 4096))
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      var files: [Int32] = []
      defer {
        for file in files { close(file) }
        var former = former
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &former)
      }
      for _ in 0..<1500 {
        // Without FD_CLOEXEC.
        let file = open("/dev/null", O_RDONLY)
        try #require(file >= 0, "open: \(errno)")
        files.append(file)
      }
      let child = try Self.shell("for file in /proc/$$/fd/*; do echo ${file##*/}; done")
      #expect(try await child.end() == .exited(0))
      let numbers = Set(child.output.text.split(separator: "\n").compactMap { Int32($0) })
      // The shell may have one of its own while it lists the folder.
      #expect(numbers.isSuperset(of: [0, 1, 2]) && numbers.count <= 4, "\(numbers)")
    }
  #endif

  // MARK: - Input and output

  @Test("Input and output larger than a pipe pass at the same time")
  func large() async throws {
    let bytes = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
    let child = try ChildProcess("cat", input: .data(bytes))
    #expect(try await child.end() == .exited(0))
    #expect(child.output.bytes == bytes)
  }

  @Test("A child that does not read its input is not waited for, and no signal reaches this process")
  func unread() async throws {
    let child = try Self.shell(
      "exec <&-; echo closed", input: .data([UInt8](repeating: 65, count: 2_000_000)))
    #expect(try await child.end() == .exited(0))
    #expect(child.output.text == "closed\n")
  }

  @Test("Lines come as the child writes them, and can be read twice")
  func lines() async throws {
    let child = try ChildProcess("cat", input: .pipe)
    var lines = child.output.lines.makeAsyncIterator()
    for text in ["one", "two", ""] {
      child.write("\(text)\n".utf8)
      #expect(try await lines.next() == text)
    }
    child.write("rest".utf8)
    child.closeInput()
    #expect(try await lines.next() == "rest")
    #expect(try await lines.next() == nil)
    #expect(try await child.output.line(containing: "w") == "two")
    #expect(try await child.output.line(containing: "absent") == nil)
    #expect(try await child.end() == .exited(0))
  }

  @Test("Errors are with the output, or apart, or in a file, as asked for")
  func errors() async throws {
    let script = "echo out; echo err >&2"
    let together = try Self.shell(script)
    try await together.end()
    #expect(together.output.text == "out\nerr\n" && together.errors.bytes.isEmpty)

    let apart = try Self.shell(script, errors: .pipe)
    try await apart.end()
    #expect(apart.output.text == "out\n" && apart.errors.text == "err\n")

    let file = temporaryURL()
    defer { try? FileManager.default.removeItem(at: file) }
    let logged = try Self.shell(script, output: .file(file.path))
    try await logged.end()
    #expect(try String(contentsOf: file, encoding: .utf8) == "out\nerr\n")
    #expect(logged.lastWords == "out / err")
    #expect(logged.output.bytes.isEmpty)
  }

  @Test("A child that closes its output runs on")
  func closedOutput() async throws {
    let child = try Self.shell("exec >&- 2>&-; read line; exit 7", input: .pipe)
    #expect(try await child.output.all().isEmpty)
    #expect(child.isRunning)
    child.write("go\n".utf8)
    #expect(try await child.end() == .exited(7))
    #expect(!child.isRunning)
  }

  // MARK: - Ending

  @Test("A child that ignores SIGTERM is killed after the time for it, and one that obeys is not")
  func stubborn() async throws {
    let stubborn = try Self.shell("trap '' TERM; echo ready; while :; do read line; done", input: .pipe)
    #expect(try await stubborn.output.line(containing: "ready") == "ready")
    #expect(await stubborn.stop(patience: .milliseconds(1)) == .signalled(SIGKILL))

    let obedient = try Self.shell("trap 'exit 3' TERM; echo ready; while :; do sleep 1000 & wait; done")
    #expect(try await obedient.output.line(containing: "ready") == "ready")
    #expect(await obedient.stop(patience: .seconds(1000)) == .exited(3))
  }

  @Test("A stopped child is killed too")
  func stopped() async throws {
    let child = try Self.waiting()
    #expect(try await child.output.line(containing: "started") != nil)
    child.signal(SIGSTOP)
    child.kill()
    #expect(try await child.end() == .signalled(SIGKILL))
  }

  @Test("What a child has started ends with it")
  func group() async throws {
    let fifo = temporaryURL().path
    try #require(mkfifo(fifo, 0o600) == 0)
    defer { unlink(fifo) }
    let child = try Self.shell(#"sleep 1000 > "$1" & read line"#, [fifo], input: .pipe)
    // Opens when the grandchild has opened it, and ends when the grandchild has ended.
    let reader = try Self.reader(of: fifo)
    var lines = reader.output.lines.makeAsyncIterator()
    #expect(try await lines.next() == "open")
    child.closeInput()
    #expect(try await child.end() == .exited(1))
    #expect(try await lines.next() == "end")
  }

  @Test("A child ends with the process that started it, even by SIGKILL")
  func orphan() async throws {
    let fifo = temporaryURL().path
    try #require(mkfifo(fifo, 0o600) == 0)
    setenv("CHILD_PROCESS_FIFO", fifo, 1)
    defer {
      unsetenv("CHILD_PROCESS_FIFO")
      unlink(fifo)
    }
    let reader = try Self.reader(of: fifo)
    var lines = reader.output.lines.makeAsyncIterator()
    await #expect(processExitsWith: .signal(SIGKILL)) {
      let fifo = try #require(ProcessInfo.processInfo.environment["CHILD_PROCESS_FIFO"])
      let child = try ChildProcess(
        "/bin/sh", ["-c", #"exec 3> "$1"; echo open; exec sleep 1000"#, "sh", fifo])
      #expect(try await child.output.line(containing: "open") == "open")
      kill(getpid(), SIGKILL)
    }
    #expect(try await lines.next() == "open")
    #expect(try await lines.next() == "end")
  }

  /// A child that says when a writer has opened a pipe with a name, and when no writer has it any more.
  private static func reader(of fifo: String) throws -> ChildProcess {
    try shell(#"exec < "$1"; echo open; read line; echo end"#, [fifo])
  }

  @Test("A cancelled task no longer waits, and the child runs on")
  func cancelled() async throws {
    let child = try Self.waiting()
    let end = Task { try await child.end() }
    let all = Task { try await child.output.all() }
    end.cancel()
    all.cancel()
    await #expect(throws: CancellationError.self) { try await end.value }
    await #expect(throws: CancellationError.self) { try await all.value }
    #expect(child.isRunning)

    let killing = Task { try await child.endOrKill() }
    killing.cancel()
    await #expect(throws: CancellationError.self) { try await killing.value }
    #expect(try await child.end() == .signalled(SIGKILL))
  }

  @Test("A thread outside of tasks can wait for the end")
  func blocking() async throws {
    let child = try Self.waiting()
    let results = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let none = child.blockingEnd(atMost: .milliseconds(1))
        child.blockingStop(patience: .zero)
        continuation.resume(returning: [none, child.blockingEnd(atMost: .zero)])
      }
    }
    // The child may take the end of its input as a reason to exit before the signal arrives.
    #expect(results == [nil, .signalled(SIGKILL)] || results == [nil, .exited(0)])
  }

  @Test("Fifty children at once leave no descriptor and no zombie")
  func many() async throws {
    // The first child starts the guard, whose pipe stays open.
    try await ChildProcess("true").end()
    let before = Self.openPipes
    let children = try (0..<50).map { _ in try Self.waiting() }
    for child in children { #expect(try await child.output.line(containing: "started") != nil) }
    #expect(Self.openPipes.count >= before.count + 150)
    for child in children { child.closeInput() }
    for child in children { #expect(try await child.end() == .exited(0)) }
    #expect(Self.openPipes == before)
    for child in children {
      // No child of this process any more, whether it runs or not.
      #expect(waitpid(child.id, nil, WNOHANG) == -1 && errno == ECHILD)
    }
  }

  @Test("A child that could not start leaves no descriptor")
  func failedStart() async throws {
    try await ChildProcess("true").end()
    let before = Self.openPipes
    for _ in 0..<20 {
      #expect(throws: ChildProcessError.self) { try ChildProcess("/absent", input: .pipe, errors: .pipe) }
    }
    #expect(Self.openPipes == before)
  }
}
