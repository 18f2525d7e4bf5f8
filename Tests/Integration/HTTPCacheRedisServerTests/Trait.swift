// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !Redis
  #error("the tests of HTTPCacheRedis need the trait Redis: pass --traits Redis, or run make test")
#endif
