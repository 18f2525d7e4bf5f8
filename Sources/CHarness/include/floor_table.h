// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// The floor: what a lookup costs at the least, for a table of that size on that machine.
//
// Plain open addressing with linear probing, XXH3 of the key, and an atomic reference count taken and dropped by each
// hit. No lock, no recency, no capacity, no removal: it measures, it is not a cache.
//
// Keys are inline in the slots, and values borrowed: they have to outlive the table. Or entries lie apart, each in one
// allocation with its key and a copy of its value: what a lookup costs at the least where entries are of any size, and
// outlive their places while the table changes.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct floor_table floor_table;
typedef struct floor_entry floor_entry;

/// The longest key that a slot has room for; entries apart have keys of any length.
#define FLOOR_KEY_MAXIMUM 96

/// Makes a table with room for so many keys, at most half full; NULL if there is no memory for it.
floor_table *_Nullable floor_create(size_t keys, uint64_t seed, bool apart);
void floor_destroy(floor_table *_Nonnull table);

/// Puts a key with its value, or gives the key another value. One thread at a time, and none that looks up meanwhile,
/// or has taken what is replaced.
///
/// Returns whether it was put: not if the key is too long, or there is no room.
bool floor_put(floor_table *_Nonnull table, const void *_Nullable key, size_t key_length,
               const void *_Nullable value, size_t value_length);

/// Finds a key and takes a reference; NULL if it is not there. From any thread.
const floor_entry *_Nullable floor_take(const floor_table *_Nonnull table, const void *_Nullable key,
                                        size_t key_length);
/// Drops the reference.
void floor_drop(const floor_entry *_Nonnull entry);

const void *_Nullable floor_value(const floor_entry *_Nonnull entry);
size_t floor_value_length(const floor_entry *_Nonnull entry);
/// References taken and not dropped.
uint32_t floor_references(const floor_entry *_Nonnull entry);

/// Bytes that the table occupies, without entries that lie apart.
size_t floor_bytes(const floor_table *_Nonnull table);
