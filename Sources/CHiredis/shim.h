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
