// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// YAML, by the system's libyaml (Debian: libyaml-dev).
#pragma once

#if __has_include(<yaml.h>)
#include <yaml.h>
#else
#error "libyaml is missing: install its development package (Debian: libyaml-dev, Fedora: libyaml-devel, Homebrew: libyaml)"
#endif
