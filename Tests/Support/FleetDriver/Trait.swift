// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !Redis
  #error("LoopbackRedis needs the trait Redis: pass --traits Redis, or run make test")
#endif
