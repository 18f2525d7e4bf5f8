// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#if !Redis
  #error("HTTPCacheRedis needs the trait Redis: pass --traits Redis or set it in your .package")
#endif
