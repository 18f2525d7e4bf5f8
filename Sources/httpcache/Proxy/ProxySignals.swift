// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

import UnixSignals

/// The signals that a proxy handles. Other signals that people or scripts send, and that end a process by default, are
/// ignored.
struct ProxySignals {
  let events: UnixSignalsSequence

  init() async {
    // A successor that ends early leaves nothing behind: its end is seen by its socket.
    for number in [SIGPIPE, SIGALRM, SIGCHLD] { signal(number, SIG_IGN) }
    events = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sigquit, .sighup, .sigusr1, .sigusr2)
  }
}
