// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// What fetching values from Redis costs at the least: hiredis as its documentation uses it, with a blocking connection,
// commands appended, and replies read in their order.
#pragma once
#include <stddef.h>

typedef struct hiredis_floor hiredis_floor;

// Connects to a path, or to a host if the port is not 0. Returns NULL if that fails.
hiredis_floor *_Nullable hiredis_floor_open(const char *_Nonnull host_or_path, int port);
void hiredis_floor_close(hiredis_floor *_Nonnull floor);

// Sends HGETALL bench:N and TIME for each N of a range, in one write, and reads all replies. Returns how many of the
// values have a size.
int hiredis_floor_fetch(hiredis_floor *_Nonnull floor, long first, long end, size_t size);
