// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// Redis' protocol, by the system's libhiredis (Debian: libhiredis-dev).
#pragma once

#if __has_include(<hiredis/hiredis.h>)
#include <hiredis/hiredis.h>
#elif __has_include(<hiredis.h>)
#include <hiredis.h>
#else
#error "libhiredis is missing: install its development package (Debian: libhiredis-dev, Fedora: hiredis-devel, Homebrew: hiredis)"
#endif

// The type of the value that the parser is in the middle of, by the sign that it has read already; -1 for none.
static inline int chiredis_type_in_progress(const redisReader *_Nonnull reader) {
  if (reader->ridx < 0) return -1;
#if HIREDIS_MAJOR == 0
  return reader->rstack[reader->ridx].type;
#else
  return reader->task[reader->ridx]->type;
#endif
}
