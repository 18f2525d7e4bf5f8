// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import BenchmarkHarness
import ChildProcesses
import Foundation

/// A server to measure.
struct ProxyServer {
  var contender: Contender
  /// The label of another build of this package, or of another configuration of nginx.
  var label: String?
  var executable: String
  /// More options of our server.
  var furtherArguments: [String] = []

  /// What a server has to do.
  struct Setup {
    var port: Int
    var originPort: Int
    var threads: Int
    /// Maximum number of client connections.
    var connections: Int
    /// An empty directory for its files.
    var directory: String
    var bodyBytes = 1024
    /// Whether each response ends its connection.
    var closes = false
    /// Whether our server also stores on disk.
    var usesDisk = false
    /// Whether each server stores in files, and has as little as possible in its own memory.
    var isInFiles = false
    /// Whether responses are stored that must be revalidated each time.
    var revalidates = false
    /// Whether nginx coalesces requests, and keeps what it does not store out of files.
    var coalesces = false
    /// Whether nginx serves stale responses, instead of an error or while it updates them.
    var servesStale = false
    /// The settings of a rule of our server for all requests.
    var rules: [String] = []
    var isRoot = geteuid() == 0
  }

  /// The same program with a label.
  func labelled(_ label: String) -> ProxyServer {
    var other = self
    other.label = label
    return other
  }

  var name: String { contender.rawValue + (label.map { " (\($0))" } ?? "") }

  /// The arguments of the program.
  func arguments(_ setup: Setup) -> [String] {
    let threads = String(setup.threads)
    switch contender {
    case .nginx: return ["-p", setup.directory, "-c", setup.directory + "/nginx.conf"]
    case .varnish: return Self.varnishArguments(setup)
    case .haproxy: return ["-db", "-f", setup.directory + "/haproxy.cfg"]
    case .trafficServer: return ["--run-root=" + setup.directory]
    case .bareNIO:
      return [
        "server-child", "--port", String(setup.port), "--threads", threads, "--size", String(setup.bodyBytes),
      ]
        + (setup.closes ? ["--closes"] : [])
    default:
      return [
        "proxy", "--origin", "http://127.0.0.1:\(setup.originPort)", "--listen", "127.0.0.1:\(setup.port)",
        "--threads", threads, "--memory", setup.isInFiles ? "1MB" : "\(ProxyServer.capacityMegabytes)MB",
        "--log", "warning",
      ] + (setup.usesDisk || setup.isInFiles ? ["--directory", setup.directory + "/cache"] : [])
        + (setup.rules.isEmpty ? [] : ["--config", setup.directory + "/httpcache.yaml"]) + furtherArguments
    }
  }

  /// Capacity of each cache. It is large enough for all URLs of a usual run.
  static let capacityMegabytes = 2048

  /// Starts the server, and waits until it answers.
  func start(_ setup: Setup) throws -> ChildProcess {
    if contender == .nginx {
      // nginx makes them when it first needs them, which slows down the misses of a short run.
      for name in 0..<256 {
        try FileManager.default.createDirectory(
          atPath: setup.directory + "/cache/" + String(format: "%02x", name),
          withIntermediateDirectories: true)
      }
    }
    for (name, text) in configurationFiles(setup) {
      let file = URL(fileURLWithPath: setup.directory).appendingPathComponent(name)
      try FileManager.default.createDirectory(
        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
    }
    let process = try ChildProcess(executable, arguments(setup), input: .pipe)
    try Self.awaitPort(setup.port, of: process, name)
    return process
  }

  /// The texts of the files that configure the server, by name.
  private func configurationFiles(_ setup: Setup) -> KeyValuePairs<String, String> {
    switch contender {
    case .nginx: ["nginx.conf": Self.nginxConfiguration(setup, keepsFilesOpen: label != nil)]
    case .varnish: ["varnish.vcl": Self.varnishConfiguration(setup)]
    case .haproxy: ["haproxy.cfg": Self.haproxyConfiguration(setup)]
    case .trafficServer: Self.trafficServerConfiguration(setup)
    default: setup.rules.isEmpty ? [:] : ["httpcache.yaml": Self.ruleConfiguration(setup)]
    }
  }

  /// A configuration with one rule.
  static func ruleConfiguration(_ setup: Setup) -> String {
    (["rules:", "  - name: all"] + setup.rules.map { "    " + $0 } + [""]).joined(separator: "\n")
  }

  /// Whether the server can do what a case measures.
  func can(_ one: ProxyCase) -> Bool {
    switch contender {
    // Its response is constant.
    case .bareNIO: one.source == .cache && one.fields.isEmpty && one != .disk
    // Its cache is in memory, answers a range with the whole response, and revalidates nothing.
    case .haproxy: ![.range, .revalidate, .disk].contains(one)
    default: true
    }
  }

  /// Waits until a server accepts connections. Stops it if it does not.
  static func awaitPort(_ port: Int, of process: ChildProcess, _ name: String) throws {
    // Varnish compiles its configuration first.
    let isOver = poll(for: 60) { !process.isRunning || (try? LoopbackClient(port: port)) != nil }
    guard process.isRunning, isOver else {
      process.blockingStop()
      throw BenchError.unprepared("\(name) did not start: \(process.lastWords)")
    }
  }

  /// A configuration with a cache in the directory, without logs, and with connections that stay open.
  /// Only the cache differs from nginx's defaults, unless nginx keeps the files of hits open.
  static func nginxConfiguration(_ setup: Setup, keepsFilesOpen: Bool = false) -> String {
    let directory = setup.directory
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "  \($0)_temp_path \"\(directory)/\($0)\";" }.joined(separator: "\n")
    return """
      daemon off;
      \(setup.isRoot ? "user root;" : "")
      worker_processes \(setup.threads);
      pid "\(directory)/nginx.pid";
      error_log stderr error;
      events {
        worker_connections \(max(4096, 2 * setup.connections + 1024));
      }
      http {
        access_log off;
        \(keepsFilesOpen ? "open_file_cache max=20000 inactive=1h; open_file_cache_valid 1h;" : "")
        keepalive_timeout 1h;
        keepalive_requests 1000000000;
      \(temporary)
        proxy_cache_path "\(directory)/cache" levels=2 keys_zone=bench:256m max_size=\(capacityMegabytes)m
          inactive=1h use_temp_path=off;
        upstream origin {
          server 127.0.0.1:\(setup.originPort);
          keepalive 128;
          keepalive_requests 1000000000;
        }
        server {
          listen 127.0.0.1:\(setup.port) backlog=4096;
          location / {
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_cache bench;
            \(setup.coalesces ? coalescing : "")
            \(setup.servesStale ? servingStale : setup.coalesces ? "proxy_cache_use_stale updating error;" : "")
            \(setup.revalidates ? "proxy_cache_revalidate on; proxy_ignore_headers Cache-Control;" : "")
            add_header X-Cache $upstream_cache_status;
          }
        }
      }

      """
  }

  /// What nginx needs for coalesced requests. By default, each request that finds nothing goes to the origin.
  private static let coalescing = "proxy_cache_lock on; proxy_max_temp_file_size 0;"
  private static let servingStale =
    "proxy_cache_use_stale updating error timeout http_503; proxy_cache_background_update on;"

  /// A configuration with a cache in memory, without logs, and with connections that stay open.
  static func haproxyConfiguration(_ setup: Setup) -> String {
    """
    global
      nbthread \(setup.threads)
      maxconn \(max(4096, 2 * setup.connections + 1024))
    defaults
      mode http
      timeout connect 10s
      timeout client 1h
      timeout server 1h
    cache bench
      total-max-size \(capacityMegabytes)
      max-object-size \(16 << 20)
      max-age 3600
    frontend clients
      bind 127.0.0.1:\(setup.port) backlog 4096
      http-request cache-use bench
      http-response set-header X-Cache HIT if { res.cache_hit }
      http-response set-header X-Cache MISS if !{ res.cache_hit }
      # wrk would wait for content of that length.
      http-response del-header Content-Length if { status 304 }
      default_backend origin
    backend origin
      http-response cache-store bench
      http-reuse always
      server origin 127.0.0.1:\(setup.originPort)

    """
  }

  /// A configuration with a cache in memory, and behind it in a file, without logs. Each file is in its own format.
  static func trafficServerConfiguration(_ setup: Setup) -> KeyValuePairs<String, String> {
    let folders = ["bindir", "sbindir", "datadir", "libdir", "libexecdir", "localstatedir", "runtimedir"]
      .map { "\($0): ." }
    let records: KeyValuePairs<String, String> = [
      "exec_thread.autoconfig": "INT 0", "exec_thread.limit": "INT \(setup.threads)",
      "accept_threads": "INT 0", "admin.user_id": "STRING #-1",
      "http.server_ports": "STRING \(setup.port):ip-in=127.0.0.1", "net.listen_backlog": "INT 4096",
      "http.keep_alive_no_activity_timeout_in": "INT 3600", "log.logging_enabled": "INT 0",
      "body_factory.template_sets_dir": "STRING etc/templates",
      "cache.ram_cache.size": "INT \(setup.isInFiles ? "0" : "\(capacityMegabytes)M")",
      "http.cache.required_headers": "INT 0",
      // It says where a response comes from.
      "http.insert_response_via_str": "INT 2",
    ]
    return [
      "runroot.yaml":
        (["prefix: \(setup.directory)", "exec_prefix: \(setup.directory)", "sysconfdir: ./etc"]
        + folders + ["logdir: .", "cachedir: .", ""]).joined(separator: "\n"),
      "etc/records.config": records.map { "CONFIG proxy.config.\($0) \($1)\n" }.joined(),
      "etc/remap.config": "map / http://127.0.0.1:\(setup.originPort)/\n",
      "etc/storage.config": "\(setup.directory) \(capacityMegabytes)M\n",
      "etc/ip_allow.yaml": "ip_allow: [{apply: in, ip_addrs: 127.0.0.1, action: allow, methods: ALL}]\n",
      "etc/templates/default/.body_factory_info": "",
    ]
  }

  /// What Varnish does with responses. It does not store what is stale on arrival, and asks with the validator of what it keeps.
  static func varnishConfiguration(_ setup: Setup) -> String {
    """
    vcl 4.0;
    backend default { .host = "127.0.0.1"; .port = "\(setup.originPort)"; }
    \(setup.revalidates
      ? "sub vcl_backend_response { set beresp.ttl = 1ms; set beresp.grace = 0s; set beresp.keep = 1h; return (deliver); }"
      : "")

    """
  }

  /// Arguments for a cache that logs no requests.
  static func varnishArguments(_ setup: Setup) -> [String] {
    [
      "-F", "-j", "none", "-n", setup.directory + "/work", "-a", "127.0.0.1:\(setup.port)",
      "-f", setup.directory + "/varnish.vcl",
      "-s", (setup.isInFiles ? "file,\(setup.directory)/storage," : "malloc,") + "\(capacityMegabytes)m",
      // A pool has a thread for each connection in use.
      "-p", "thread_pools=\(setup.threads)", "-p", "listen_depth=4096", "-p", "timeout_idle=3600",
      "-p", "vsl_mask=" + varnishTags.map { "-" + $0 }.joined(separator: ","),
    ]
  }

  /// The log records of a request. All versions from 6.0 have these names.
  private static let varnishTags = [
    "Begin", "End", "Link", "SessOpen", "SessClose", "Timestamp", "VCL_call", "VCL_return", "Hit", "TTL",
    "Storage", "Length", "Fetch_Body", "BackendOpen", "BackendClose", "ReqStart", "ReqAcct", "ReqMethod",
    "ReqURL",
    "ReqProtocol", "ReqHeader", "ReqUnset", "RespProtocol", "RespStatus", "RespReason", "RespHeader",
    "RespUnset",
    "BereqAcct", "BereqMethod", "BereqURL", "BereqProtocol", "BereqHeader", "BereqUnset", "BerespProtocol",
    "BerespStatus", "BerespReason", "BerespHeader", "BerespUnset",
  ]

  /// The source of a response by the server's own account.
  enum Source: Equatable { case cache, origin, unknown }

  /// Returns the source of a response by the server's fields; `unknown` if it has no such field.
  func source(of response: LoopbackClient.Response) -> Source {
    switch contender {
    case .nginx, .haproxy:
      switch response.fields["x-cache"] {
      case "HIT": .cache
      case "MISS", "REVALIDATED": .origin
      default: .unknown
      }
    case .trafficServer:
      // "http/1.1 traffic_server (ApacheTrafficServer/9.2.9 [cHs f ])": hit, miss, stale.
      switch response.fields["via"]?.split(separator: "[").last?.prefix(2) {
      case "cH": .cache
      case "cM", "cS": .origin
      default: .unknown
      }
    case .varnish:
      // A hit has two numbers: of this request, and of the request that stored the response.
      switch response.fields["x-varnish"]?.split(separator: " ").count {
      case 2: .cache
      case 1: .origin
      default: .unknown
      }
    default:
      response.fields["cache-status"].map { $0.contains("; hit") ? .cache : .origin } ?? .unknown
    }
  }
}
