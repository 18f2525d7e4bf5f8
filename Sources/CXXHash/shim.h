// XXH3 of the system's libxxhash (Debian: libxxhash-dev, Homebrew: xxhash).
#pragma once
#include <xxhash.h>
