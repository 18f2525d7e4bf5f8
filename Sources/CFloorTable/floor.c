#include "CFloorTable.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

// Two lines of the processor's cache, which fetches them as a pair.
struct floor_slot {
  uint64_t hash;  // 0: free
  const void *value;
  uint64_t value_length;
  _Atomic uint32_t references;
  uint32_t key_length;
  unsigned char key[FLOOR_KEY_MAXIMUM];
};
_Static_assert(sizeof(floor_slot) == 128, "a slot is two lines");

struct floor_table {
  floor_slot *slots;
  size_t mask;
  size_t count;
  uint64_t seed;
};

static uint64_t hash_of(const floor_table *table, const void *key, size_t length) {
  uint64_t hash = XXH3_64bits_withSeed(key, length, table->seed);
  return hash == 0 ? 1 : hash;
}

// The slot of a key, or the free one where it would be. There always is a free one.
static inline floor_slot *find(const floor_table *table, uint64_t hash, const void *key, size_t length) {
  size_t position = hash & table->mask;
  for (;;) {
    floor_slot *slot = &table->slots[position];
    if (slot->hash == 0) return slot;
    if (slot->hash == hash && slot->key_length == length && memcmp(slot->key, key, length) == 0) return slot;
    position = (position + 1) & table->mask;
  }
}

floor_table *floor_create(size_t keys, uint64_t seed) {
  if (keys > SIZE_MAX / sizeof(floor_slot) / 4) return NULL;
  size_t slots = 2;
  while (slots < 2 * keys) slots *= 2;
  floor_table *table = malloc(sizeof *table);
  if (table == NULL) return NULL;
  table->slots = aligned_alloc(sizeof(floor_slot), slots * sizeof(floor_slot));
  if (table->slots == NULL) {
    free(table);
    return NULL;
  }
  memset(table->slots, 0, slots * sizeof(floor_slot));
  table->mask = slots - 1;
  table->count = 0;
  table->seed = seed;
  return table;
}

void floor_destroy(floor_table *table) {
  free(table->slots);
  free(table);
}

bool floor_put(floor_table *table, const void *key, size_t key_length, const void *value, size_t value_length) {
  if (key_length > FLOOR_KEY_MAXIMUM) return false;
  uint64_t hash = hash_of(table, key, key_length);
  floor_slot *slot = find(table, hash, key, key_length);
  if (slot->hash == 0) {
    if (2 * (table->count + 1) > table->mask + 1) return false;
    table->count += 1;
    memcpy(slot->key, key, key_length);
    slot->key_length = (uint32_t)key_length;
    slot->hash = hash;
  }
  slot->value = value;
  slot->value_length = value_length;
  return true;
}

const floor_slot *floor_take(const floor_table *table, const void *key, size_t key_length) {
  floor_slot *slot = find(table, hash_of(table, key, key_length), key, key_length);
  if (slot->hash == 0) return NULL;
  atomic_fetch_add_explicit(&slot->references, 1, memory_order_relaxed);
  return slot;
}

void floor_drop(const floor_slot *slot) {
  atomic_fetch_sub_explicit(&((floor_slot *)slot)->references, 1, memory_order_acq_rel);
}

const void *floor_value(const floor_slot *slot) { return slot->value; }

size_t floor_value_length(const floor_slot *slot) { return slot->value_length; }

uint32_t floor_references(const floor_slot *slot) {
  return atomic_load_explicit(&((floor_slot *)slot)->references, memory_order_relaxed);
}

size_t floor_bytes(const floor_table *table) {
  return sizeof *table + (table->mask + 1) * sizeof(floor_slot);
}
