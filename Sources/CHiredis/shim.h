// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// Redis' protocol, by the system's libhiredis (Debian: libhiredis-dev).
//
// Only the parser's header: <hiredis.h> includes <sys/time.h>, and then the compiler takes this module for the one that
// defines `timeval` in every module that depends on it.
#pragma once

#if __has_include(<hiredis/read.h>)
#include <hiredis/read.h>
#elif __has_include(<read.h>)
#include <read.h>
#else
#error "libhiredis is missing: install its development package (Debian: libhiredis-dev, Fedora: hiredis-devel, Homebrew: hiredis)"
#endif

// The formatter, as <hiredis.h> declares it: a test compares it with ours.
#if defined(REDIS_REPLY_DOUBLE)
long long redisFormatCommandArgv(char **target, int argc, const char **argv, const size_t *argvlen);
#else
int redisFormatCommandArgv(char **target, int argc, const char **argv, const size_t *argvlen);
#endif
void redisFreeCommand(char *cmd);

// hiredis' own names for two fields of the parser are macros, which Swift does not import.
static inline const char *_Nonnull chiredis_error(const redisReader *_Nonnull reader) {
  return redisReaderGetError(reader);
}

static inline void chiredis_set_private_data(redisReader *_Nonnull reader, void *_Nonnull data) {
  (void)redisReaderSetPrivdata(reader, data);
}
