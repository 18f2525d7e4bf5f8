// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import Foundation
import Loopback
import TestSupport
import Testing

@Suite("Errors of the command", .timeLimit(.minutes(10)))
struct CommandErrorTests {
  /// A way to start the proxy in vain.
  struct Failure: Sendable, CustomTestStringConvertible {
    /// Behind `httpcache proxy`; `PORT` is a port that is taken, and so is the directory `taken`.
    var arguments: String
    /// The configuration file `proxy.yaml`, if there is one.
    var file: String?
    var encoding = String.Encoding.utf8
    /// What the file `format` in the directory `cache` holds, if there is one.
    var format: String?
    var status: Int32
    /// The beginning of standard error.
    var text: String

    var testDescription: String { file.map { "\(arguments), with: \($0.prefix(200))" } ?? arguments }

    static func options(_ arguments: String, _ status: Int32, _ text: String) -> Self {
      Self(arguments: arguments, file: nil, status: status, text: text)
    }

    static func file(_ file: String, _ text: String, status: Int32 = 78) -> Self {
      Self(arguments: "--config proxy.yaml", file: file, status: status, text: "httpcache: \(text)")
    }
  }

  /// Lines of ten aliases each, of the line before.
  private static func aliases(lines: Int) -> String {
    (0..<lines).map { line in
      let values = String(repeating: line == 0 ? "x," : "*a\(line - 1),", count: 10)
      return "a\(line): &a\(line) [\(values)]\n"
    }.joined()
  }

  /// A value in so many lists.
  private static func nested(_ depth: Int, _ value: String) -> String {
    String(repeating: "[", count: depth) + value + String(repeating: "]", count: depth)
  }

  static let failures: [Failure] = [
    // Options.
    .options(
      "", 64, "httpcache: --origin is missing; add the address of your server, such as http://127.0.0.1:8000"),
    .options("--orign http://a", 64, "Error: Unknown option '--orign'. Did you mean '--origin'?"),
    .options("--origin", 64, "Error: Missing value for '--origin <url>'"),
    .options("http://a", 64, "Error: Unexpected argument 'http://a'"),
    .options("--origin http://a --memory 1X", 64, "Error: The value '1X' is invalid for '--memory <size>'"),
    .options("--origin http://a --threads x", 64, "Error: The value 'x' is invalid for '--threads <count>'"),
    .options("--origin http://a --log loud", 64, "Error: The value 'loud' is invalid for '--log <level>'"),
    .options("--origin http://a --cache big", 64, "Error: The value 'big' is invalid for '--cache <cache>'"),
    .options(
      "--origin http://a --name a --name b", 64,
      "httpcache: --name is given twice, with 'a' and 'b'; remove one"),
    .options(
      "--origin http://a --half-closure --no-half-closure", 64,
      "httpcache: --half-closure is given twice, as '--half-closure' and '--no-half-closure'; remove one"),
    .options(
      "--origin a:8000", 64,
      "httpcache: --origin: expected a URL such as http://127.0.0.1:8000, found 'a:8000'"),
    .options(
      "--origin ftp://a", 64, "httpcache: --origin: expected http or https, found 'ftp'"),
    .options(
      "--origin http://a --certificate missing.pem", 64,
      "httpcache: --certificate: cannot read certificates in PEM from missing.pem"),
    .options(
      "--origin http://a --redirect 127.0.0.1:80", 64,
      "httpcache: --redirect is for --certificate, which is missing; add --certificate, or remove it"),
    .options(
      "--origin http://a --admin-tls", 64,
      "httpcache: --admin-tls is for --certificate, which is missing; add --certificate, or remove it"),
    .options(
      "--origin http://a --redirect-port 443", 64,
      "httpcache: --redirect-port is for --redirect, which is missing; add --redirect, or remove it"),
    .options(
      "--origin http://a --tls-minimum 1.1", 64,
      "Error: The value '1.1' is invalid for '--tls-minimum <tls-minimum>'"),
    .options(
      "--origin http://a --certificate a.pem --key a.key --key b.key", 64,
      "httpcache: --key: expected one for each --certificate, found 2 for 1"),
    .options(
      "--origin http://a --origin-ca ca.pem", 64,
      "httpcache: --origin-ca is for an origin with https; write https in --origin, or remove the option"),
    .options(
      "--origin http://a --origin-accept-any-certificate", 64,
      "httpcache: --origin-accept-any-certificate is for an origin with https; write https in --origin, or remove the option"
    ),
    .options(
      "--origin https://a --origin-ca missing.pem", 64,
      "httpcache: --origin-ca: cannot read certificates in PEM from missing.pem"),
    .options(
      "--origin https://a --origin-key missing.pem", 64,
      "httpcache: --origin-key: a client certificate needs two files: the certificate and its key"),
    .options(
      "--origin https://a --origin-server-name 192.0.2.1", 64,
      "httpcache: --origin-server-name: expected a host name, found '192.0.2.1'"),
    .file(
      "origin: https://a\norigin-certificate: missing.pem\norigin-key: missing.pem\n",
      "proxy.yaml:2: origin-certificate: cannot read certificates in PEM from missing.pem"),
    .options(
      "--origin http://a,weight=0", 64, "httpcache: --origin: expected a weight of 1 to 1000, found '0'"),
    .options(
      "--origin http://a,share=2", 64,
      "httpcache: --origin: expected weight=3 or backup after the comma, found 'share=2'"),
    .options(
      "--origin unix:", 64,
      "httpcache: --origin: expected a path, as in unix:/run/app.sock, found 'unix:'"),
    .options(
      "--origin http://a --origin https://b", 64,
      "httpcache: --origin: expected https for all servers or for none, found it for 1 of 2"),
    .options(
      "--origin http://a --origin http://a:80,weight=2", 64,
      "httpcache: --origin: the server a:80 is there more than once"),
    .options(
      "--origin http://a,backup", 64, "httpcache: --origin: expected a server without backup"),
    .options(
      "--origin http://a --origin-check health", 64,
      "httpcache: --origin-check: expected a path in ASCII without spaces, such as /health, found 'health'"),
    .options(
      "--origin http://a --origin-failure-status 200", 64,
      "httpcache: --origin-failure-status: expected 400 to 599, found 200"),
    .options(
      "--origin http://a --origin-check / --origin-failures 0", 64,
      "httpcache: --origin-check: expected a limit of failures, which is missing"),
    .options(
      "--origin http://a --origin-attempts 0", 64,
      "httpcache: --origin-attempts: expected 1 to 64, found 0"),
    .options(
      "--origin http://a --origin-resolve-interval 0", 64,
      "httpcache: --origin-resolve-interval: expected more than 0 and at most 86400 seconds"),
    .options(
      "--origin http://a:81/path", 64,
      "httpcache: --origin: expected a host and a port only; use http://a:81"),
    .options(
      "--origin http://a:70000", 64,
      "httpcache: --origin: expected a port from 1 to 65535, found 'http://a:70000'"),
    .options(
      "--origin http://a --listen 8080", 64,
      "httpcache: --listen: expected an address such as 127.0.0.1:8080, found '8080'"),
    .options(
      "--origin http://a --admin [::1:9", 64,
      "httpcache: --admin: expected an address such as [::1]:8080, found '[::1:9'"),
    .options(
      "--origin http://a --admin 0.0.0.0:9", 64,
      "httpcache: --admin: 0.0.0.0:9 can be reached from other machines; set an admin token, or use 127.0.0.1"
    ),
    .options(
      "--origin http://a --disk 1GB", 64,
      "httpcache: --disk limits --directory, which is missing; add --directory, or remove --disk"),
    .options("--origin http://a --directory=", 64, "Error: Missing value for '--directory <directory>'"),
    .file(
      "origin: http://a\ndirectory: ''\n",
      "proxy.yaml:2: directory: expected a value, found ''"),
    .options(
      "--origin http://a --name a,b", 64,
      "httpcache: --name: expected letters, digits and -._ without spaces, found 'a,b'"),
    .options(
      "--origin http://a --scheme ftp", 64, "httpcache: --scheme: expected http or https, found 'ftp'"),
    .options(
      "--origin http://a --origin-timeout 0", 64,
      "httpcache: --origin-timeout: expected more than 0 and at most 86400 seconds"),
    .options(
      "--origin http://a --origin-first-byte-timeout 0", 64,
      "httpcache: --origin-first-byte-timeout: expected more than 0 and at most 86400 seconds"),
    .options(
      "--origin http://a --origin-between-bytes-timeout 0", 64,
      "httpcache: --origin-between-bytes-timeout: expected more than 0 and at most 86400 seconds"),
    .options(
      "--origin http://a --origin-connect-timeout 0", 64,
      "httpcache: --origin-connect-timeout: expected more than 0 and at most 86400 seconds"),
    .options(
      "--origin http://a --origin-idle-timeout 1e9", 64,
      "httpcache: --origin-idle-timeout: expected more than 0 and at most 86400 seconds"),
    .options(
      "--origin http://a --origin-queue-timeout 0", 64,
      "httpcache: --origin-queue-timeout: expected more than 0 and at most 86400 seconds"),
    .options(
      "--origin http://a --origin-probe-interval 0", 64,
      "httpcache: --origin-probe-interval: expected more than 0 and at most 86400 seconds"),
    .options(
      "--origin http://a --client-idle-timeout 0", 64,
      "httpcache: --client-idle-timeout: expected more than 0 and at most 86400 seconds"),
    .options(
      "--origin http://a --client-header-timeout nan", 64,
      "httpcache: --client-header-timeout: expected more than 0 and at most 86400 seconds"),
    .options(
      "--origin http://a --origin-connections=-1", 64,
      "httpcache: --origin-connections: expected 0 to 1000000, found -1"),
    .options(
      "--origin http://a --origin-queue=-1", 64, "httpcache: --origin-queue: expected 0 to 1000000, found -1"),
    .options(
      "--origin http://a --origin-idle-connections=-1", 64,
      "httpcache: --origin-idle-connections: expected 0 to 1000000, found -1"),
    .options(
      "--origin http://a --origin-failures=-1", 64,
      "httpcache: --origin-failures: expected 0 to 1000000, found -1"),
    .options(
      "--origin http://a --maximum-fields 20000", 64,
      "httpcache: --maximum-fields: expected 1 to 10000, found 20000"),
    .options(
      "--origin http://a --maximum-head 1GB", 64, "httpcache: --maximum-head: expected 1KB to 16MB"),
    .options(
      "--origin http://a --maximum-line 10", 64, "httpcache: --maximum-line: expected 1KB to 16MB"),
    .options(
      "--origin http://a --drain-timeout 1e9", 64, "httpcache: --drain-timeout: expected 0 to 86400 seconds"),
    .options("--origin http://a --threads 2000", 64, "httpcache: --threads: expected 0 to 1024"),
    .options("--origin http://a --connections 0", 64, "httpcache: --connections: expected at least 1"),
    .options(
      "--origin http://a --connections-per-address 0", 64,
      "httpcache: --connections-per-address: expected at least 1"),
    .options(
      "--origin http://a --streams-per-connection 0", 64,
      "httpcache: --streams-per-connection: expected 1 to 10000"),
    .options("--origin http://a --streams 0", 64, "httpcache: --streams: expected at least 1"),
    .options(
      "--origin http://a --http2 maybe", 64,
      "Error: The value 'maybe' is invalid for '--http2 <http2>'"),
    .options(
      "--origin http://a --origin-http2 maybe", 64,
      "Error: The value 'maybe' is invalid for '--origin-http2 <origin-http2>'"),
    .options(
      "--origin http://a --follower-timeout 1e9", 64,
      "httpcache: --follower-timeout: expected 0 to 86400 seconds"),
    .options(
      "--origin http://a --stall-timeout 0", 64,
      "httpcache: --stall-timeout: expected more than 0 and at most 86400 seconds"),
    .options(
      "--origin http://a --access-log-format json", 64,
      "httpcache: --access-log-format is for --access-log, which is missing; add --access-log FILE, or remove it"
    ),
    .options(
      "--origin http://a --set-cookie keep", 64, "Error: The value 'keep' is invalid for '--set-cookie "),
    .options(
      "--origin http://a --client-reload never", 64,
      "Error: The value 'never' is invalid for '--client-reload "),
    .options(
      "--origin http://a --heuristic-maximum 1000000000", 64,
      "httpcache: --heuristic-maximum: expected 0 to 31536000 seconds"),
    .options(
      "--origin http://a --upgrade-timeout 0", 64,
      "httpcache: --upgrade-timeout: expected more than 0 and at most 604800 seconds"),
    .options(
      "--origin http://a --proxy-protocol", 64,
      "httpcache: --proxy-protocol needs --trust, which is missing; "),
    .options(
      "--origin http://a --forwarded all", 64, "Error: The value 'all' is invalid for '--forwarded <kind>'"),
    .options("--origin http://a --trust everything", 64, "httpcache: --trust: "),
    .options(
      "--origin http://a --tag-field Cache-Control", 64,
      "httpcache: --tag-field: expected the name of a field for tags, such as Surrogate-Key, found 'Cache-Control'"
    ),
    // The configuration file.
    .options(
      "--config absent.yaml", 66, "httpcache: cannot read the configuration file absent.yaml (--config)"),
    .options("--config .", 66, "httpcache: cannot read the configuration file . (--config)"),
    .file(
      "# nothing\n",
      "--origin is missing; add the address of your server, such as http://127.0.0.1:8000", status: 64),
    .file(
      "origin: http://a\norign: http://a\n", "proxy.yaml:2: unknown option 'orign'; did you mean 'origin'?"),
    .file(
      "origin: http://a\nrules:\n  - lifetime: 1h\n  - lifetime: soon\n",
      "proxy.yaml:4: rules: rule 2: lifetime: expected a time, such as 30s, 10m, 12h or 7d, found 'soon'"),
    .file("rules: 5\n", "proxy.yaml:1: rules: expected a list of rules, found '5'"),
    .file(
      "rules:\n  - name: a\n    match:\n      pth: /a\n    bypass: true\n",
      "proxy.yaml:4: rules: rule 1: unknown part of a match 'pth'; there are host, path, "),
    .file(
      "rules:\n  - match: { status: 404 }\n    ignore-query: all\n",
      "proxy.yaml:2: rules: rule 1: ignore-query is decided before there is a response"),
    // Sites.
    .file("sites: 5\n", "proxy.yaml:1: sites: expected a list of at least one site"),
    .file("sites: []\n", "proxy.yaml:1: sites: expected a list of at least one site"),
    .file("sites:\n  - a\n", "proxy.yaml:2: sites: expected a mapping with `host` and `origin`, found 'a'"),
    .file("sites:\n  - host: a\n", "proxy.yaml:2: a: expected `origin`, which is missing"),
    .file("sites:\n  - host: []\n", "proxy.yaml:2: host: expected a value, found an empty list"),
    .file("sites:\n  - host: {}\n", "proxy.yaml:2: host: expected a value, found a mapping"),
    .file(
      "sites:\n  - host: http://a\n",
      "proxy.yaml:2: sites: http://a: host: expected a host without scheme and port"),
    .file("sites:\n  - name: a b\n", "proxy.yaml:2: name: expected letters, digits and -._*/, found 'a b'"),
    .file(
      "sites:\n  - path: /x*\n", "proxy.yaml:2: sites: default/x*: path: expected the first segments of paths"
    ),
    .file(
      "sites:\n  - host: a\n    origin: http://a\n  - { name: a, host: b, origin: http://b }\n",
      "proxy.yaml:4: sites: two sites have the name 'a'; give this one another `name`"),
    .file(
      "sites:\n  - { host: a, origin: http://a }\n  - { name: b, host: A, origin: http://b }\n",
      "proxy.yaml:3: sites: b: 'a' belongs to a already"),
    .file(
      "sites:\n  - { host: a, path: /~b, origin: http://a }\n",
      "proxy.yaml:2: sites: expected a `name` of at most 100 letters, digits and -._*/ instead of 'a/~b'"),
    .file(
      "origin-ca: /none\nsites:\n  - { host: a, origin: http://a }\n",
      "proxy.yaml:1: origin-ca is for an origin with https"),
    .file(
      "origin: ftp://a\nsites:\n  - { host: a, origin: http://a }\n",
      "proxy.yaml:1: origin: expected a site without `origin`; all have their own"),
    .file(
      "sites:\n  - host: a\n    memory: 1GB\n",
      "proxy.yaml:3: 'memory' is for all sites: write it outside of `sites`"),
    .file(
      "sites:\n  - host: a\n    orgin: http://a\n",
      "proxy.yaml:3: unknown option 'orgin'; did you mean 'origin'?"),
    .file(
      "sites:\n  - host: a\n    origin: ftp://a\n",
      "proxy.yaml:3: origin: expected http or https, found 'ftp'"),
    .file(
      "origin-attempts: 99\nsites:\n  - host: a\n    origin: http://a\n",
      "proxy.yaml:1: origin-attempts: expected 1 to 64, found 99"),
    .file(
      "sites:\n  - host: a\n    origin: http://a\n    origin-timeout: soon\n",
      "proxy.yaml:4: origin-timeout: expected a number of seconds, found 'soon'"),
    .file(
      "sites:\n  - host: a\n    origin: http://a\n    certificate: missing.pem\n",
      "proxy.yaml:4: certificate: cannot read certificates in PEM from missing.pem"),
    .file(
      "sites:\n  - host: a\n    origin: http://a\n    key: missing.pem\n",
      "proxy.yaml:4: key: expected one for each --certificate, found 1 for 0"),
    .file(
      "sites:\n  - host: a\n    origin: http://a\n    rules:\n      - lifetime: soon\n",
      "proxy.yaml:5: rules: rule 1: lifetime: expected a time"),
    .file("sites:\n  - host: a\n    host: b\n", "proxy.yaml:3: 'host' is set more than once; remove one"),
    .file("rules: []\nrules: []\n", "proxy.yaml:2: 'rules' is set more than once; remove one"),
    .file("colour-of-the-bikeshed: 1", "proxy.yaml:1: unknown option 'colour-of-the-bikeshed'; "),
    .file("origin = http://a\n", "proxy.yaml:1: expected `origin: http://a`, found `origin = http://a`"),
    .file(
      "origin: http://a\r\nno-stale-when-disconnected\r\n",
      "proxy.yaml:2: expected `stale-when-disconnected: false`, found `no-stale-when-disconnected`"),
    .file(
      "memory: 1X # too much\n", "proxy.yaml:1: memory: expected a size, such as 512MB or 10GB, found '1X'"),
    // With the byte order mark of some editors.
    .file(
      "\u{FEFF}origin: http://a\r\nthreads: many\r\n",
      "proxy.yaml:2: threads: expected a whole number, found 'many'"),
    .file("\nthreads: many", "proxy.yaml:2: threads: expected a whole number, found 'many'"),
    .file("origin-timeout: 1s", "proxy.yaml:1: origin-timeout: expected a number of seconds, found '1s'"),
    .file("cache: big", "proxy.yaml:1: cache: expected private, shared, cdn, found 'big'"),
    .file("half-closure: maybe", "proxy.yaml:1: half-closure: expected true or false, found 'maybe'"),
    .file("memory: [1GB, 2GB]", "proxy.yaml:1: memory: expected one value, found a list"),
    .file("limits:\n  memory: 1GB\n", "proxy.yaml:1: unknown option 'limits'; "),
    .file("memory:\n  size: 1GB\n", "proxy.yaml:2: memory: expected a value, found a mapping"),
    .file("origin:\n", "proxy.yaml:1: origin: expected a value, found nothing"),
    .file("- origin: http://a\n", "proxy.yaml:1: expected `name: value` lines"),
    .file("[origin]: http://a\n", "proxy.yaml:1: expected the name of an option, found a list"),
    .file("log: info\nlog: debug\n", "proxy.yaml:1: 'log' is set more than once; remove one"),
    .file("origin: http://a\ntrust: [127.0.0.1, everything]\n", "proxy.yaml:2: trust: "),
    .file("config: other.yaml", "proxy.yaml:1: config: only the command line can name a configuration file"),
    .file(
      "origin: \"http://a\nlog: info\n", "proxy.yaml:1: not valid YAML: while scanning a quoted scalar, "),
    .file("origin: http://a\n\tlog: info\n", "proxy.yaml:2: not valid YAML: "),
    .file(
      aliases(lines: 9),
      "proxy.yaml:5: not valid YAML: the aliases up to here stand for more than 100000 values"),
    .file(
      "a: &a \(String(repeating: "x", count: 1 << 20))\nb: [\(String(repeating: "*a,", count: 17))]\n",
      "proxy.yaml:2: not valid YAML: the aliases up to here stand for more than 100000 values or 16 MB"),
    .file(
      "a: &a \(nested(60, "x"))\nb: \(nested(60, "*a"))\n",
      "proxy.yaml:2: not valid YAML: nested more than 100 levels deep"),
    .file("a: &a \(nested(40, "x"))\nb: \(nested(40, "*a"))\n", "proxy.yaml:1: unknown option 'a'"),
    .file(
      "origin: http://a\nlisten: 8080\n",
      "proxy.yaml:2: listen: expected an address such as 127.0.0.1:8080, found '8080'"),
    .file(
      "origin: http://a\ndisk: 1GB\n",
      "proxy.yaml:2: disk limits --directory, which is missing; add --directory, or remove --disk"),
    Failure(
      arguments: "--config proxy.yaml", file: "name: caf\u{E9}\n", encoding: .isoLatin1, status: 78,
      text: "httpcache: proxy.yaml: expected YAML in UTF-8"),
    // Files and directories.
    .options(
      "--origin http://127.0.0.1:9 --listen 127.0.0.1:0 --access-log absent/log", 1,
      "httpcache: cannot open the access log absent/log: "),
    .options(
      "--origin http://127.0.0.1:9 --listen 127.0.0.1:0 --directory /dev/null/cache", 1,
      "httpcache: cannot create directory /dev/null/cache: "),
    .options(
      "--origin http://127.0.0.1:9 --listen 127.0.0.1:0 --directory taken", 1,
      "httpcache: cache directory HERE/taken is in use by process "),
    .file(
      "origin: http://127.0.0.1:9\ndirectory: .\n",
      "HERE is not a cache directory: it holds 'proxy.yaml'; choose an empty --directory, ",
      status: 1),
    Failure(
      arguments: "--origin http://127.0.0.1:9 --directory cache",
      format: "HTPCACHE, and damaged from here on", status: 1,
      text:
        "httpcache: cannot read cache directory HERE/cache: the checksum of its file 'format' is wrong; "
        + "choose another --directory, or start the proxy with --start-empty-if-unreadable to discard its content"
    ),
    .options(
      "--origin http://127.0.0.1:9 --directory /dev/null", 1,
      "httpcache: cannot list /dev/null: Not a directory (errno 20)"),
    // Addresses.
    .options(
      "--origin http://127.0.0.1:9 --listen 127.0.0.1:PORT", 1,
      "httpcache: cannot listen on 127.0.0.1:PORT (--listen): address already in use; "),
    .options(
      "--origin http://127.0.0.1:9 --listen 127.0.0.1:0 --admin 127.0.0.1:PORT", 1,
      "httpcache: cannot listen on 127.0.0.1:PORT (--admin): address already in use; "),
    .file(
      "origin: http://127.0.0.1:9\nlisten: 127.0.0.1:PORT\n",
      "cannot listen on 127.0.0.1:PORT (proxy.yaml:2): address already in use; ", status: 1),
    .options(
      "--origin http://127.0.0.1:9 --listen nowhere.invalid:80", 1,
      "httpcache: cannot listen on nowhere.invalid:80 (--listen): host not found; "),
    // From a network for documentation (RFC 5737).
    .options(
      "--origin http://127.0.0.1:9 --listen 192.0.2.1:8080", 1,
      "httpcache: cannot listen on 192.0.2.1:8080 (--listen): no interface of this machine has the address; "),
    .options(
      "--origin http://127.0.0.1:9 --listen unix:/dev/null", 1,
      "httpcache: cannot listen on unix:/dev/null (--listen): a file that is not a socket has this name; "),
    .options(
      "--origin http://127.0.0.1:9 --listen unix:none/web", 1,
      "httpcache: cannot listen on unix:none/web (--listen): the folder does not exist; "),
    .file(
      "origin: http://127.0.0.1:9\nlisten: [127.0.0.1:0, \"unix:web,owner=no-such-name\"]\n",
      "cannot listen on unix:web (proxy.yaml:2): there is no user 'no-such-name'; ", status: 1),
    .options(
      "--origin http://127.0.0.1:9 --listen systemd:web", 1,
      "httpcache: cannot listen on systemd:web (--listen): no socket was passed to the process (LISTEN_FDS); "
    ),
    .options(
      "--origin http://127.0.0.1:9 --listen unix:web,mode=9", 64,
      "httpcache: --listen: mode: expected permissions such as 660, found '9'"),
    .options(
      "--origin http://127.0.0.1:9 --admin systemd:admin", 64,
      "httpcache: --admin: expected an address or a socket in the file system, found a socket of the service manager"
    ),
    .options(
      "--origin http://127.0.0.1:9 --listen 127.0.0.1:0 --log critical --pid-file none/pid", 1,
      "httpcache: cannot write the PID file none/pid (--pid-file): No such file or directory"),
    .options(
      "--origin http://127.0.0.1:9 --directory taken --handover web", 1,
      "httpcache: cannot take over: web: no answer; "),
    .options(
      "--origin http://127.0.0.1:9 --listen 127.0.0.1:0 --handover none/socket", 1,
      "httpcache: cannot listen on unix:none/socket (--handover): the folder does not exist; "),
  ]

  @Test("Each error has its exit status and text, and is in the manual", arguments: failures)
  func failure(_ failure: Failure) async throws {
    let taken = try await LoopbackOrigin.start { _ in .init() }
    let port = "\(taken.port)"
    try await withTemporaryFolder { folder in
      if let file = failure.file {
        try folder.write(file.replacing("PORT", with: port), to: "proxy.yaml", failure.encoding)
      }
      if let format = failure.format {
        try FileManager.default.createDirectory(
          atPath: folder.path + "/cache", withIntermediateDirectories: false)
        try folder.write(format, to: "cache/format")
      }
      let arguments = failure.arguments.replacing("PORT", with: port).split(separator: " ").map(String.init)
      let end: CommandProcess.End
      if arguments.contains("taken") {
        end = try await CommandProcess.run(
          ["proxy", "--origin", taken.url(""), "--listen", "unix:web", "--directory", "taken"],
          in: folder.path
        ) { other in
          try await other.says(" serving")
          return try await CommandProcess.run(["proxy"] + arguments, in: folder.path)
        }
      } else {
        end = try await CommandProcess.run(["proxy"] + arguments, in: folder.path)
      }
      #expect(end.status == failure.status, "\(end.errors)")
      let text = failure.text.replacing("PORT", with: port).replacing("HERE", with: folder.path)
      #expect(end.errors.hasPrefix(text), "\(end.errors)")
      #expect(end.output == "")
      let rows = try Manual.errors.get()
      let isKnown = try rows.contains { try $0.status == end.status && $0.matches(end.errors) }
      #expect(isKnown, "\(end.errors)")
    }
    await taken.stop()
  }

  @Test("Each error in the manual has a test case")
  func manual() throws {
    for row in try Manual.errors.get() {
      let occurs = try Self.failures.contains {
        try $0.status == row.status && row.matches($0.text + " …")
      }
      #expect(occurs, "\(row.pattern)")
    }
  }

  @Test("--version prints the version")
  func version() async throws {
    let end = try await CommandProcess.run(["--version"])
    #expect(end.status == 0)
    #expect(end.output.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil, "\(end.output)")
  }

  @Test("The help of the proxy lists its options and the effect of an opposite flag")
  func help() async throws {
    let end = try await CommandProcess.run(["proxy", "--help"])
    #expect(end.status == 0)
    #expect(end.output.contains("--config <file>"))
    #expect(end.output.contains("--no-half-closure ends"))
  }

  @Test("Other commands refuse repeated options too")
  func otherCommand() async throws {
    let end = try await CommandProcess.run(["explain", "--json", "--json"])
    #expect(end.status == 64)
    #expect(end.errors.hasPrefix("httpcache: --json is given twice"))
  }
}

/// The table of errors in the manual.
enum Manual {
  struct Row {
    var status: Int32
    /// A message in which words in capitals stand for anything.
    var pattern: String

    /// Whether the message begins as the pattern says.
    func matches(_ message: String) throws -> Bool {
      let parts = pattern.split(separator: /[A-Z]{4,}/, omittingEmptySubsequences: false)
        .map { NSRegularExpression.escapedPattern(for: String($0)) }
      return try message.prefixMatch(of: Regex(parts.joined(separator: ".+"))) != nil
    }
  }

  static let errors = Result { try read() }

  private static func read() throws -> [Row] {
    let text = try Repository.text("Documentation/Operating.md")
    let section = try #require(text.components(separatedBy: "\n## Errors\n").dropFirst().first)
    return section.split(separator: "\n").compactMap { line in
      guard let row = line.wholeMatch(of: /\| (\d+) \| `(.+?)` \|.*/), let status = Int32(row.1) else {
        return nil
      }
      return Row(status: status, pattern: String(row.2))
    }
  }
}
