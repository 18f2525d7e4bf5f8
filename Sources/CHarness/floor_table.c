// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#include "floor_table.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct floor_entry {
  const void *value;
  uint64_t value_length;
  _Atomic uint32_t references;
  uint32_t key_length;
  unsigned char key[];
};

// Two lines of the processor's cache, which fetches them as a pair.
struct slot {
  uint64_t hash;  // 0: free
  _Alignas(8) unsigned char entry[sizeof(floor_entry) + FLOOR_KEY_MAXIMUM];
};
_Static_assert(sizeof(struct slot) == 128, "a slot is two lines");

// Where an entry lies apart.
struct place {
  uint64_t hash;  // 0: free
  floor_entry *entry;
};

struct floor_table {
  union {
    struct slot *slots;
    struct place *places;
    void *memory;
  };
  size_t mask;
  size_t count;
  uint64_t seed;
  bool apart;
};

static inline uint64_t hash_of(const floor_table *table, const void *key, size_t length) {
  uint64_t hash = XXH3_64bits_withSeed(key, length, table->seed);
  return hash == 0 ? 1 : hash;
}

static inline bool is(const floor_entry *entry, const void *key, size_t length) {
  return entry->key_length == length && memcmp(entry->key, key, length) == 0;
}

// The slot of a key, or the free one where it would be. There always is a free one.
static inline struct slot *find_slot(const floor_table *table, uint64_t hash, const void *key, size_t length) {
  for (size_t position = hash & table->mask;; position = (position + 1) & table->mask) {
    struct slot *slot = &table->slots[position];
    if (slot->hash == 0 || (slot->hash == hash && is((floor_entry *)slot->entry, key, length))) return slot;
  }
}

static inline struct place *find_place(const floor_table *table, uint64_t hash, const void *key, size_t length) {
  for (size_t position = hash & table->mask;; position = (position + 1) & table->mask) {
    struct place *place = &table->places[position];
    if (place->hash == 0 || (place->hash == hash && is(place->entry, key, length))) return place;
  }
}

static size_t slot_size(const floor_table *table) {
  return table->apart ? sizeof(struct place) : sizeof(struct slot);
}

floor_table *floor_create(size_t keys, uint64_t seed, bool apart) {
  if (keys > SIZE_MAX / sizeof(struct slot) / 4) return NULL;
  size_t slots = 2;
  while (slots < 2 * keys) slots *= 2;
  floor_table *table = calloc(1, sizeof *table);
  if (table == NULL) return NULL;
  table->apart = apart;
  table->mask = slots - 1;
  table->seed = seed;
  size_t bytes = slots * slot_size(table);
  table->memory = aligned_alloc(apart ? sizeof(struct place) : sizeof(struct slot), bytes);
  if (table->memory == NULL) {
    free(table);
    return NULL;
  }
  memset(table->memory, 0, bytes);
  return table;
}

void floor_destroy(floor_table *table) {
  for (size_t position = 0; table->apart && position <= table->mask; position++) free(table->places[position].entry);
  free(table->memory);
  free(table);
}

bool floor_put(floor_table *table, const void *key, size_t key_length, const void *value, size_t value_length) {
  if (key_length > (table->apart ? UINT32_MAX : FLOOR_KEY_MAXIMUM) || value_length > SIZE_MAX / 2) return false;
  uint64_t hash = hash_of(table, key, key_length);
  struct slot *slot = table->apart ? NULL : find_slot(table, hash, key, key_length);
  struct place *place = table->apart ? find_place(table, hash, key, key_length) : NULL;
  uint64_t *place_hash = table->apart ? &place->hash : &slot->hash;
  bool is_new = *place_hash == 0;
  if (is_new && 2 * (table->count + 1) > table->mask + 1) return false;
  floor_entry *entry = table->apart ? malloc(sizeof *entry + key_length + value_length) : (floor_entry *)slot->entry;
  if (entry == NULL) return false;
  if (is_new || table->apart) {
    atomic_init(&entry->references, 0);
    entry->key_length = (uint32_t)key_length;
    if (key_length > 0) memcpy(entry->key, key, key_length);
  }
  if (table->apart) {
    if (value_length > 0) memcpy(entry->key + key_length, value, value_length);
    value = entry->key + key_length;
    free(place->entry);
    place->entry = entry;
  }
  entry->value = value;
  entry->value_length = value_length;
  *place_hash = hash;
  table->count += is_new;
  return true;
}

// One test of `apart`, which is always predicted.
const floor_entry *floor_take(const floor_table *table, const void *key, size_t key_length) {
  uint64_t hash = hash_of(table, key, key_length);
  floor_entry *entry;
  if (table->apart) {
    entry = find_place(table, hash, key, key_length)->entry;
    if (entry == NULL) return NULL;
  } else {
    struct slot *slot = find_slot(table, hash, key, key_length);
    if (slot->hash == 0) return NULL;
    entry = (floor_entry *)slot->entry;
  }
  atomic_fetch_add_explicit(&entry->references, 1, memory_order_relaxed);
  return entry;
}

void floor_drop(const floor_entry *entry) {
  atomic_fetch_sub_explicit(&((floor_entry *)entry)->references, 1, memory_order_acq_rel);
}

const void *floor_value(const floor_entry *entry) { return entry->value; }

size_t floor_value_length(const floor_entry *entry) { return entry->value_length; }

uint32_t floor_references(const floor_entry *entry) {
  return atomic_load_explicit(&((floor_entry *)entry)->references, memory_order_relaxed);
}

size_t floor_bytes(const floor_table *table) {
  return sizeof *table + (table->mask + 1) * slot_size(table);
}
