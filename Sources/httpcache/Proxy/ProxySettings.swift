// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import ArgumentParser
import HTTPCacheProxy
import HTTPCaching
import Logging

/// The settings of `httpcache proxy`: the options of its command line and of its configuration file.
struct ProxySettings {
  /// An option that was given.
  struct Setting: Equatable {
    /// In the form of a command line.
    var arguments: [String]
    /// `file:line`; `nil` for the command line.
    var place: String?

    static func == (left: Self, right: Self) -> Bool { left.arguments == right.arguments }
  }

  /// By the names of options.
  private(set) var settings: [String: Setting] = [:]
  /// The rules of the configuration file that are for all sites.
  private var generalRules = CacheRules()
  /// The sites of the configuration file; empty for the one of the options.
  private(set) var sites: [Site] = []
  /// The configuration file; `-` for standard input.
  private(set) var file: String?

  /// A site of the configuration file.
  struct Site: Equatable {
    var name: String
    var scope: SiteScope
    /// The options that are for this site only.
    var settings: [String: Setting]
    var rules: CacheRules
    /// `file:line`.
    var place: String

    static func == (left: Self, right: Self) -> Bool {
      left.name == right.name && left.scope == right.scope && left.settings == right.settings
        && left.rules == right.rules
    }
  }

  /// All rules of the configuration file.
  var rules: CacheRules {
    sites.isEmpty
      ? generalRules
      : CacheRules(sites: sites.map { ($0.name, $0.scope, $0.rules) }, others: generalRules)
  }

  /// The configurations of a proxy.
  struct Resolved {
    var proxy: ProxyConfiguration
    var cache: HTTPCache.Configuration
    var level: Logger.Level
    var requiresSharedTier: Bool
    var pidFile: String?
  }

  /// An error in the settings, and its exit status.
  struct Fault: Error, CustomStringConvertible {
    var description: String
    var status: Int32

    /// EX_USAGE, EX_NOINPUT and EX_CONFIG of sysexits.h.
    static func usage(_ text: String) -> Self { Self(description: text, status: 64) }
    static func unreadable(_ text: String) -> Self { Self(description: text, status: 66) }
    static func file(_ text: String) -> Self { Self(description: text, status: 78) }
  }

  private init() {}

  /// Reads the configuration file, if the command line names one. The command line overrides the file.
  ///
  /// - Parameter arguments: the command line, without the name of the command.
  static func read(_ arguments: [String]) throws(Fault) -> ProxySettings {
    let options = Self.options
    var given: [String: Setting] = [:]
    for use in options.uses(in: arguments) {
      given[use.option.name, default: Setting(arguments: [])].arguments += use.arguments
    }
    var read = ProxySettings()
    if let file = given.removeValue(forKey: "config")?.arguments.last {
      let path = file.hasPrefix("--config=") ? String(file.dropFirst(9)) : file
      read.file = path
      try read.add(file: path, options)
    }
    read.settings.merge(given) { $1 }
    return read
  }

  static let options = OptionList(of: ProxyOptions.self)

  private mutating func add(file: String, _ options: OptionList) throws(Fault) {
    let name = file == "-" ? "standard input" : file
    let bytes: [UInt8]
    do {
      bytes = try Input.bytes(of: file)
    } catch {
      throw .unreadable("cannot read the configuration file \(name) (--config)")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .file("\(name): expected YAML in UTF-8, found other bytes")
    }
    do {
      let read = try ConfigurationFile(text, options: options)
      func settings(_ entries: [ConfigurationFile.Entry]) -> [String: Setting] {
        Dictionary(
          uniqueKeysWithValues: entries.map {
            ($0.option, Setting(arguments: $0.arguments, place: "\(name):\($0.line)"))
          })
      }
      generalRules = read.rules ?? CacheRules()
      self.settings = settings(read.entries)
      sites = (read.sites ?? []).map { site in
        Site(
          name: site.name, scope: site.scope, settings: settings(site.entries),
          rules: site.rules ?? CacheRules(), place: "\(name):\(site.line)")
      }
    } catch {
      throw .file("\(name):\(error.line): \(error.text)")
    }
  }

  /// Makes configurations from the settings.
  func resolved() throws(Fault) -> Resolved {
    do {
      let options = try ProxyOptions.parse(settings.values.flatMap(\.arguments))
      var read: [ProxyConfiguration.Site] = []
      var certificates: [ProxyConfiguration.TLS.Certificate] = []
      if !sites.isEmpty { try checkGeneralOptions() }
      for site in sites {
        let (configuration, own) = try resolved(site)
        read.append(configuration)
        certificates += own
      }
      let (proxy, plain, level) = try options.resolved(read, certificates)
      var cache = plain
      cache.cacheRules = rules
      return Resolved(
        proxy: proxy, cache: cache, level: level, requiresSharedTier: options.sharedRequired,
        pidFile: options.pidFile)
    } catch let fault as Fault {
      throw fault
    } catch let error as ProxyConfiguration.ValidationError {
      throw located(error.description)
    } catch {
      throw .usage(ProxyOptions.message(for: error))
    }
  }

  /// Makes the configuration of a site, and returns it with the certificates that only the site names. Its options come before
  /// those outside of the sites, and after those of the command line.
  private func resolved(
    _ site: Site
  ) throws -> (ProxyConfiguration.Site, [ProxyConfiguration.TLS.Certificate]) {
    var merged = self
    merged.settings = settings.filter { ProxyOptions.isOfSite($0.key) }
    merged.settings.merge(site.settings) { general, own in general.place == nil ? general : own }
    let ofCertificates = site.settings.filter { $0.key == "certificate" || $0.key == "key" }
    // Those that are written outside of the sites are read there.
    for name in ["certificate", "key"] { merged.settings[name] = nil }
    guard let servers = merged.settings["origin"] else {
      throw Fault.file("\(site.place): \(site.name): expected `origin`, which is missing")
    }
    let isEncrypted = Self.options.uses(in: servers.arguments).contains {
      $0.value.lowercasedASCII.hasPrefix("https:")
    }
    // What is written for the sites with https is not for the others.
    for name in Self.ofEncryptedOrigins where !isEncrypted && site.settings[name] == nil {
      merged.settings[name] = nil
    }
    do {
      let origin = try ProxyOptions.parse(merged.settings.values.flatMap(\.arguments)).originConfiguration()
      let certificates =
        ofCertificates.isEmpty
        ? [] : try ProxyOptions.parse(ofCertificates.values.flatMap(\.arguments)).certificates()
      return (
        ProxyConfiguration.Site(
          name: site.name, hosts: site.scope.hosts, paths: site.scope.paths, origin: origin), certificates
      )
    } catch let error as ProxyConfiguration.ValidationError {
      merged.settings.merge(site.settings) { known, _ in known }
      throw merged.located(error.description)
    }
  }

  /// Checks that a site uses what is written for all of them.
  private func checkGeneralOptions() throws(Fault) {
    func servers(_ settings: [String: Setting]) -> [String] {
      Self.options.uses(in: settings["origin"]?.arguments ?? []).map { $0.value.lowercasedASCII }
    }
    let isOverruling = settings["origin"].map { $0.place == nil } ?? false
    if settings["origin"] != nil, !isOverruling, sites.allSatisfy({ $0.settings["origin"] != nil }) {
      throw located("--origin: expected a site without `origin`; all have their own")
    }
    let all = servers(settings) + sites.flatMap { servers($0.settings) }
    guard !all.contains(where: { $0.hasPrefix("https:") }) else { return }
    for name in Self.ofEncryptedOrigins where settings[name] != nil {
      throw located("--\(name) is for an origin with https; write https in --origin, or remove the option")
    }
  }

  private static let ofEncryptedOrigins = [
    "origin-accept-any-certificate", "origin-ca", "origin-certificate", "origin-key", "origin-server-name",
  ]

  // MARK: - Changes

  /// An option whose value has changed.
  struct Change {
    var name: String
    var old: String
    var new: String
  }

  /// Returns the changes, in the order of their names.
  func changes(to new: ProxySettings) -> [Change] {
    let changes = Set(settings.keys).union(new.settings.keys).sorted().compactMap { name in
      settings[name] == new.settings[name]
        ? nil : Change(name: name, old: shown(name), new: new.shown(name))
    }
    let rules = (generalRules.rules, new.generalRules.rules)
    return changes
      + (rules.0 == rules.1
        ? [] : [Change(name: "rules", old: "\(rules.0.count)", new: "\(rules.1.count)")])
      + (sites == new.sites
        ? []
        : [
          Change(
            name: "sites", old: sites.map(\.name).joined(separator: ", "),
            new: new.sites.map { site in
              let old = sites.first { $0.name == site.name }
              return site.name + (old.map { $0 != site } ?? false ? " (changed)" : "")
            }.joined(separator: ", "))
        ])
  }

  /// Returns the value of an option, or its default.
  private func shown(_ name: String) -> String {
    let option = Self.options[name]
    guard let setting = settings[name] else {
      guard let option, option.isFlag else { return option?.defaultValue ?? "" }
      return "\(option.defaultValue == "--\(name)")"
    }
    return Self.options.uses(in: setting.arguments).map { use in
      use.option.isFlag ? "\(!use.value.hasPrefix("--no-") || use.value == "--\(name)")" : use.value
    }.joined(separator: ", ")
  }

  /// All settings, for the admin port: without the values of secrets.
  var shownSettings: [ShownSetting] {
    func shown(_ name: String, _ settings: ProxySettings, site: String? = nil) -> ShownSetting {
      let isSecret = ProxyControl.secret.contains(name) && settings.settings[name] != nil
      return ShownSetting(
        site: site, name: name, value: isSecret ? "(not shown)" : settings.shown(name),
        place: settings.settings[name].map { _ in settings.place(of: name) })
    }
    var all = [ShownSetting(name: "config", value: file ?? "", place: file.map { _ in "--config" })]
    all += Self.options.names.filter { !["config", "help"].contains($0) }.map { shown($0, self) }
    for site in sites {
      var own = self
      own.settings = site.settings
      all.append(
        ShownSetting(
          site: site.name, name: "host", value: site.scope.hosts.joined(separator: ", "), place: site.place))
      all.append(
        ShownSetting(
          site: site.name, name: "path", value: site.scope.paths.joined(separator: ", "), place: site.place))
      all += site.settings.keys.sorted().map { shown($0, own, site: site.name) }
    }
    return all
  }

  /// Whether clients use TLS.
  var hasCertificates: Bool {
    ([settings] + sites.map(\.settings)).contains { $0["certificate"]?.arguments.isEmpty == false }
  }

  /// Returns these settings, with some options taken from others.
  func taking(_ names: [String], from other: ProxySettings) -> ProxySettings {
    var taken = self
    for name in names { taken.settings[name] = other.settings[name] }
    if names.contains("rules") { taken.generalRules = other.generalRules }
    if names.contains("sites") { taken.sites = other.sites }
    return taken
  }

  // MARK: - Faults

  /// Names the line of the file instead of the command-line option, if a file set the option that an error begins with.
  func located(_ text: String) -> Fault {
    guard text.hasPrefix("--") else { return .usage(text) }
    let name = text.dropFirst(2).prefix { $0.isLetter || $0 == "-" }
    guard let place = settings[String(name)]?.place else { return .usage(text) }
    return .file("\(place): \(text.dropFirst(2))")
  }

  /// Returns where an option was set, for an error: `--listen`, or the line of a file.
  func place(of name: String) -> String { settings[name]?.place ?? "--\(name)" }
}
