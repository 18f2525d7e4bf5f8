// XXH3 of the system's libxxhash (Debian: libxxhash-dev, Homebrew: xxhash).
#pragma once
#include <xxhash.h>

// Asks for a line of memory that will be written to, without waiting for it.
static inline void store_prefetch(const void *_Nonnull address) { __builtin_prefetch(address, 1); }
