// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// What posix_spawn can do on Linux, which Swift's module of the C library leaves out.
#pragma once
#ifdef __linux__
#include <spawn.h>

int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
__attribute__((weak)) int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

// Closes all files from a number on. glibc does so from 2.34 on, with one system call (close_range) whatever the number
// of open files. Other C libraries have no such function. There, the low numbers are closed: a new file gets the lowest
// free number, so it does not matter to a program whether higher ones stay open.
static inline int spawn_close_from(posix_spawn_file_actions_t *actions, int from) {
  if (posix_spawn_file_actions_addclosefrom_np) return posix_spawn_file_actions_addclosefrom_np(actions, from);
  int result = 0;
  for (int file = from; file < 256 && result == 0; file++) result = posix_spawn_file_actions_addclose(actions, file);
  return result;
}
#endif
