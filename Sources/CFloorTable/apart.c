#include "CFloorTable.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct apart_entry {
  _Atomic uint32_t references;
  uint32_t key_length;
  uint64_t value_length;
  unsigned char bytes[];  // the key, then the value
};

struct apart_place {
  apart_entry *entry;  // NULL: free
  uint64_t hash;
};

struct apart_table {
  struct apart_place *places;
  size_t mask;
  size_t count;
  uint64_t seed;
};

static inline struct apart_place *find(const apart_table *table, uint64_t hash, const void *key, size_t length) {
  size_t position = hash & table->mask;
  for (;;) {
    struct apart_place *place = &table->places[position];
    apart_entry *entry = place->entry;
    if (entry == NULL) return place;
    if (place->hash == hash && entry->key_length == length && memcmp(entry->bytes, key, length) == 0) return place;
    position = (position + 1) & table->mask;
  }
}

apart_table *apart_create(size_t keys, uint64_t seed) {
  if (keys > SIZE_MAX / sizeof(struct apart_place) / 4) return NULL;
  size_t places = 2;
  while (places < 2 * keys) places *= 2;
  apart_table *table = malloc(sizeof *table);
  if (table == NULL) return NULL;
  table->places = calloc(places, sizeof(struct apart_place));
  if (table->places == NULL) {
    free(table);
    return NULL;
  }
  table->mask = places - 1;
  table->count = 0;
  table->seed = seed;
  return table;
}

void apart_destroy(apart_table *table) {
  for (size_t position = 0; position <= table->mask; position++) free(table->places[position].entry);
  free(table->places);
  free(table);
}

bool apart_put(apart_table *table, const void *key, size_t key_length, const void *value, size_t value_length) {
  if (key_length > UINT32_MAX || value_length > SIZE_MAX / 2) return false;
  uint64_t hash = XXH3_64bits_withSeed(key, key_length, table->seed);
  struct apart_place *place = find(table, hash, key, key_length);
  if (place->entry == NULL && 2 * (table->count + 1) > table->mask + 1) return false;
  apart_entry *entry = malloc(sizeof *entry + key_length + value_length);
  if (entry == NULL) return false;
  atomic_init(&entry->references, 0);
  entry->key_length = (uint32_t)key_length;
  entry->value_length = value_length;
  if (key_length > 0) memcpy(entry->bytes, key, key_length);
  if (value_length > 0) memcpy(entry->bytes + key_length, value, value_length);
  if (place->entry == NULL) table->count += 1;
  free(place->entry);
  place->entry = entry;
  place->hash = hash;
  return true;
}

const apart_entry *apart_take(const apart_table *table, const void *key, size_t key_length) {
  uint64_t hash = XXH3_64bits_withSeed(key, key_length, table->seed);
  apart_entry *entry = find(table, hash, key, key_length)->entry;
  if (entry != NULL) atomic_fetch_add_explicit(&entry->references, 1, memory_order_relaxed);
  return entry;
}

void apart_drop(const apart_entry *entry) {
  atomic_fetch_sub_explicit(&((apart_entry *)entry)->references, 1, memory_order_acq_rel);
}

const void *apart_value(const apart_entry *entry) { return entry->bytes + entry->key_length; }

size_t apart_value_length(const apart_entry *entry) { return entry->value_length; }
