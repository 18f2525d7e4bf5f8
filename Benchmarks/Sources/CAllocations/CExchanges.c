// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

#define _GNU_SOURCE
#include "CAllocations.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// A client and an origin that wait in their system calls and ask malloc for nothing: the count is that of the proxy between
// them.

static struct sockaddr_in loopback(int port) {
  struct sockaddr_in address = {0};
  address.sin_family = AF_INET;
  address.sin_port = htons((unsigned short)port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static void send_at_once(int descriptor) {
  int yes = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static int write_all(int descriptor, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t written = send(descriptor, bytes, count, MSG_NOSIGNAL);
    if (written <= 0) return 0;
    bytes += written;
    count -= (size_t)written;
  }
  return 1;
}

/// Reads a message with so many bytes after its head. Returns the number of all bytes, or 0.
static size_t read_message(int descriptor, char *buffer, size_t capacity, size_t content_bytes) {
  size_t count = 0;
  while (count < capacity - 1) {
    ssize_t found = recv(descriptor, buffer + count, capacity - 1 - count, 0);
    if (found <= 0) return 0;
    count += (size_t)found;
    buffer[count] = 0;
    char *end = strstr(buffer, "\r\n\r\n");
    if (end != NULL && count >= (size_t)(end + 4 - buffer) + content_bytes) return count;
  }
  return 0;
}

static int listener;
static char *full, *unchanged;

static void *serve(void *context) {
  char buffer[1 << 12];
  int connection = (int)(intptr_t)context;
  leave_thread_uncounted();
  while (read_message(connection, buffer, sizeof buffer, 0) > 0) {
    const char *response = strcasestr(buffer, "\r\nif-none-match:") ? unchanged : full;
    if (!write_all(connection, response, strlen(response))) break;
  }
  close(connection);
  return NULL;
}

static void *accept_all(void *context) {
  leave_thread_uncounted();
  for (;;) {
    int connection = accept(listener, NULL, NULL);
    pthread_t thread;
    if (connection < 0) return NULL;
    send_at_once(connection);
    if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)connection) != 0) close(connection);
  }
}

int start_origin(const char *response, const char *not_modified) {
  struct sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  pthread_t thread;
  full = strdup(response);
  unchanged = strdup(not_modified);
  listener = socket(AF_INET, SOCK_STREAM, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 16) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0)
    return -1;
  return pthread_create(&thread, NULL, accept_all, NULL) == 0 ? ntohs(address.sin_port) : -1;
}

int connect_to(int port) {
  struct sockaddr_in address = loopback(port);
  int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  if (descriptor < 0) return -1;
  send_at_once(descriptor);
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
  close(descriptor);
  return -1;
}

int exchange(int descriptor, const char *request, int status, long content_bytes) {
  static char buffer[1 << 14];
  return write_all(descriptor, request, strlen(request)) &&
         read_message(descriptor, buffer, sizeof buffer, (size_t)content_bytes) > 0 &&
         atoi(buffer + sizeof "HTTP/1.1") == status;
}

void finish_connection(int descriptor) {
  char rest[64];
  while (recv(descriptor, rest, sizeof rest, 0) > 0) {
  }
  close(descriptor);
}
