// The floor: what a lookup costs at the least, for a table of that size on that machine.
//
// Plain open addressing with linear probing, XXH3 of the key, keys inline in the slots, and an atomic reference count
// taken and dropped by each hit. No lock, no recency, no capacity, no removal: it measures, it is no cache.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct floor_table floor_table;
typedef struct floor_slot floor_slot;

/// The longest key that a slot has room for.
#define FLOOR_KEY_MAXIMUM 96

/// Makes a table with room for so many keys, at most half full; NULL if there is no memory for it.
floor_table *_Nullable floor_create(size_t keys, uint64_t seed);
void floor_destroy(floor_table *_Nonnull table);

/// Puts a key with its value, or gives the key another value. The value is borrowed: it has to outlive the table.
/// One thread at a time, and none that looks up meanwhile.
///
/// Returns whether it was put: not if the key is too long, or the table has no room.
bool floor_put(floor_table *_Nonnull table, const void *_Nullable key, size_t key_length,
               const void *_Nullable value, size_t value_length);

/// Finds a key and takes a reference; NULL if it is not there. From any thread.
const floor_slot *_Nullable floor_take(const floor_table *_Nonnull table, const void *_Nullable key,
                                       size_t key_length);
/// Drops the reference.
void floor_drop(const floor_slot *_Nonnull slot);

const void *_Nullable floor_value(const floor_slot *_Nonnull slot);
size_t floor_value_length(const floor_slot *_Nonnull slot);
/// References taken and not dropped.
uint32_t floor_references(const floor_slot *_Nonnull slot);

/// Bytes that the table occupies.
size_t floor_bytes(const floor_table *_Nonnull table);

// The floor of a table whose entries lie apart, each in one allocation with its key and value: what a lookup costs at the
// least where entries are of any size, and live on with whoever found them while the table changes. Otherwise as above.
typedef struct apart_table apart_table;
typedef struct apart_entry apart_entry;

/// Makes a table with room for so many keys, at most half full; NULL if there is no memory for it.
apart_table *_Nullable apart_create(size_t keys, uint64_t seed);
void apart_destroy(apart_table *_Nonnull table);

/// Puts a copy of a key and its value, in place of what was there. One thread at a time, and none that looks up
/// meanwhile, or has taken what is replaced.
///
/// Returns whether it was put: not if the table has no room, or there is no memory.
bool apart_put(apart_table *_Nonnull table, const void *_Nullable key, size_t key_length,
               const void *_Nullable value, size_t value_length);

/// Finds a key and takes a reference; NULL if it is not there. From any thread.
const apart_entry *_Nullable apart_take(const apart_table *_Nonnull table, const void *_Nullable key,
                                        size_t key_length);
/// Drops the reference.
void apart_drop(const apart_entry *_Nonnull entry);

const void *_Nonnull apart_value(const apart_entry *_Nonnull entry);
size_t apart_value_length(const apart_entry *_Nonnull entry);
