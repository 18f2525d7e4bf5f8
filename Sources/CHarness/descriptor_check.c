// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// Counts the descriptors that a process of tests has open when all its tests have ended.
//
// A test that leaves its server, client, cache or child process open takes descriptors from every test after it. Swift
// Testing has no hook after the last test, so this is a handler for the end of the process. scripts/test.sh sets
// HTTPCACHE_TEST_DESCRIPTORS to the maximum, and lets each folder run in a process of its own.

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#define DESCRIPTORS "/proc/self/fd"
#else
#define DESCRIPTORS "/dev/fd"
#endif

static int maximum;

static void check_descriptors(void) {
  DIR *directory = opendir(DESCRIPTORS);
  if (!directory) return;
  int count = 0;
  struct dirent *entry;
  while ((entry = readdir(directory))) count += entry->d_name[0] != '.';
  // The directory itself is one of them.
  count -= 1;
  fprintf(stderr, "Descriptors at the end: %d (maximum %d)\n", count, maximum);
  if (count <= maximum) {
    closedir(directory);
    return;
  }
  rewinddir(directory);
  while ((entry = readdir(directory))) {
    char path[300], target[300];
    snprintf(path, sizeof path, DESCRIPTORS "/%s", entry->d_name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = 0;
    fprintf(stderr, "  %s %s\n", entry->d_name, target);
  }
  fprintf(stderr, "error: tests left descriptors open\n");
  fflush(NULL);
  _exit(1);
}

__attribute__((constructor)) static void install(void) {
  const char *limit = getenv("HTTPCACHE_TEST_DESCRIPTORS");
  if (!limit) return;
  maximum = atoi(limit);
  // Programs that tests start are not checked: a test may compare what they write.
  unsetenv("HTTPCACHE_TEST_DESCRIPTORS");
  // Other handlers of the process' end run before it.
  atexit(check_descriptors);
}
