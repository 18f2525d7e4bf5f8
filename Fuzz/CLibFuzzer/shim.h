// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Runs libFuzzer from a main function of one's own; from the runtime that -sanitize=fuzzer links.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));

// Ends the process so that libFuzzer keeps the input, and says why.
static inline _Noreturn void LLVMFuzzerReport(const char *finding) {
  fprintf(stderr, "%s\n", finding);
  abort();
}
