// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// What glibc offers about its malloc, which Swift's module of glibc leaves out.
#pragma once
#if defined(__linux__)
#include <malloc.h>
#endif
