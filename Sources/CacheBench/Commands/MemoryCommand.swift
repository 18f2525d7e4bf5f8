import ArgumentParser

struct MemoryCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "memory",
    abstract:
      "What an entry occupies beyond its key and its value, by malloc's own figures and by the process's.")

  @Option(help: "The number of entries, with keys of 64 bytes.")
  var keys = 1_000_000

  @Option(help: "The bytes of each value.")
  var valueSize = 1024

  @Flag(help: "Print one JSON document.")
  var json = false

  func validate() throws {
    try Limits.require(keys, "keys", in: 1...StoreOptions.mostKeys)
    try Limits.require(valueSize, "value-size", in: 1...RunOptions.mostBytes)
    try Limits.requireMemory(
      Double(keys) * (Double(valueSize) + 500), "--keys \(keys) with --value-size \(valueSize)")
  }

  func run() throws {
    let progress = ProgressLine()
    defer { progress.clear() }
    var parameters = Parameters()
    parameters.keys = keys
    parameters.valueBytes = valueSize
    var report = Report(command: "memory", machine: .current, parameters: parameters)
    report.memory = try MemoryBench(keys: keys, valueSize: valueSize, progress: progress).run()
    report.notes = [
      "malloc's figure has its own headers and padding in it; a value is an array of its own, whose header of 32 bytes "
        + "counts as beyond the value, for all alike. What URLCache keeps has a response without fields in it."
    ]
    if keys > FoundationCache.mostKeys {
      report.notes.append(
        "URLCache is left out: beyond \(FoundationCache.mostKeys) keys filling it takes too long.")
    }
    progress.clear()
    try report.print(asJSON: json)
  }
}
