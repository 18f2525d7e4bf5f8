// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#include "hiredis_floor.h"

// Set with the trait Redis: without it, hiredis is not linked.
#ifdef HIREDIS_FLOOR
#if __has_include(<hiredis/hiredis.h>)
#include <hiredis/hiredis.h>
#else
#include <hiredis.h>
#endif

hiredis_floor *hiredis_floor_open(const char *host_or_path, int port) {
  redisContext *context = port ? redisConnect(host_or_path, port) : redisConnectUnix(host_or_path);
  if (context && context->err) {
    redisFree(context);
    return NULL;
  }
  return (hiredis_floor *)context;
}

void hiredis_floor_close(hiredis_floor *floor) { redisFree((redisContext *)floor); }

int hiredis_floor_fetch(hiredis_floor *floor, long first, long end, size_t size) {
  redisContext *context = (redisContext *)floor;
  int count = 0;
  for (long number = first; number < end; number++) {
    redisAppendCommand(context, "HGETALL bench:%ld", number);
    redisAppendCommand(context, "TIME");
  }
  for (long number = first; number < end; number++) {
    redisReply *value = NULL, *time = NULL;
    if (redisGetReply(context, (void **)&value) != REDIS_OK || redisGetReply(context, (void **)&time) != REDIS_OK) {
      if (value) freeReplyObject(value);
      return count;
    }
    if (value->type == REDIS_REPLY_ARRAY && value->elements == 2 && value->element[1]->len == size &&
        time->type == REDIS_REPLY_ARRAY)
      count++;
    freeReplyObject(value);
    freeReplyObject(time);
  }
  return count;
}
#endif
