// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// What the compiler and the C library offer, and Swift has no name for.
#pragma once

// Asks for a line of memory that will be written to, without waiting for it.
static inline void store_prefetch(const void *_Nonnull address) { __builtin_prefetch(address, 1); }

// A number of the current thread. Threads that store for the first time one after another have consecutive numbers, so
// they belong to different groups. The addresses of threads do not ensure that.
static inline unsigned store_thread_number(void) {
  static _Atomic(unsigned) last;
  static _Thread_local unsigned number;
  if (number == 0) number = __c11_atomic_fetch_add(&last, 1, __ATOMIC_RELAXED) + 1;
  return number;
}

#ifdef __linux__
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

// glibc declares it only with _GNU_SOURCE, which is too late to define here.
int fallocate(int file, int mode, off_t offset, off_t count);

// Has blocks for a range of a file at hand, and leaves the file's size as it is (FALLOC_FL_KEEP_SIZE).
static inline int store_allocate(int file, off_t offset, off_t count) { return fallocate(file, 1, offset, count); }

// Reads what the page cache has (RWF_NOWAIT), and fails if the system would wait for the disk. Not every C library has
// preadv2.
static inline ssize_t store_read_at_once(int file, void *_Nullable bytes, size_t count, off_t offset) {
  struct iovec part = {bytes, count};
  return syscall(SYS_preadv2, file, &part, 1, offset, 0, 8);
}

// Opens a file for reading and writing if that takes no look at the disk (RESOLVE_CACHED), and fails otherwise.
static inline int store_open_at_once(const char *_Nonnull path) {
  unsigned long long how[] = {O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0, 0x20};
  // openat2 has this number on every processor. No C library has it.
  return (int)syscall(437, AT_FDCWD, path, how, sizeof(how));
}

// What glibc offers about its malloc, which Swift's module of glibc leaves out.
#include <malloc.h>

// What posix_spawn can do, which that module leaves out, too.
#include <spawn.h>

int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
__attribute__((weak)) int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

// Closes all files from a number on. glibc does so from 2.34 on, with one system call (close_range) whatever the number
// of open files. Other C libraries have no such function. There, the low numbers are closed: a new file gets the lowest
// free number, so it does not matter to a program whether higher ones stay open.
static inline int spawn_close_from(posix_spawn_file_actions_t *actions, int from) {
  if (posix_spawn_file_actions_addclosefrom_np) return posix_spawn_file_actions_addclosefrom_np(actions, from);
  int result = 0;
  for (int file = from; file < 256 && result == 0; file++) result = posix_spawn_file_actions_addclose(actions, file);
  return result;
}
#endif

#ifdef __APPLE__
#include <malloc/malloc.h>
#endif

// A message over a local socket that has a descriptor with it (SCM_RIGHTS): its macros have no names in Swift.
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

// The parts of such a message.
struct local_message {
  struct msghdr header;
  struct iovec part;
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
};

static inline void local_prepare(struct local_message *_Nonnull message, void *_Nonnull bytes, size_t count) {
  memset(message, 0, sizeof(*message));
  message->part.iov_base = bytes;
  message->part.iov_len = count;
  message->header.msg_iov = &message->part;
  message->header.msg_iovlen = 1;
  message->header.msg_control = message->control.room;
  message->header.msg_controllen = sizeof(message->control.room);
}

// Sends bytes, with a descriptor if that is not negative.
static inline ssize_t local_send(int socket, const void *_Nonnull bytes, size_t count, int descriptor) {
  struct local_message message;
  local_prepare(&message, (void *)bytes, count);
  if (descriptor >= 0) {
    struct cmsghdr *control = &message.control.header;
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(control), &descriptor, sizeof(int));
  } else {
    message.header.msg_control = NULL;
    message.header.msg_controllen = 0;
  }
#ifdef MSG_NOSIGNAL
  return sendmsg(socket, &message.header, MSG_NOSIGNAL);
#else
  return sendmsg(socket, &message.header, 0);
#endif
}

// Receives bytes, and the descriptor that came with them; -1 if none did.
static inline ssize_t local_receive(int socket, void *_Nonnull bytes, size_t count, int *_Nonnull descriptor) {
  struct local_message message;
  local_prepare(&message, bytes, count);
  *descriptor = -1;
#ifdef MSG_CMSG_CLOEXEC
  ssize_t result = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
#else
  ssize_t result = recvmsg(socket, &message.header, 0);
#endif
  if (result < 0) return result;
  struct cmsghdr *control = CMSG_FIRSTHDR(&message.header);
  if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
      control->cmsg_len == CMSG_LEN(sizeof(int)))
    memcpy(descriptor, CMSG_DATA(control), sizeof(int));
  return result;
}

// Returns freed memory to the system, where the C library can. It takes about 70 ms for each GiB, and a thread that
// allocates from the same arena may wait meanwhile.
static inline void store_give_back_memory(void) {
#if defined(__GLIBC__)
  malloc_trim(0);
#elif defined(__APPLE__)
  malloc_zone_pressure_relief(NULL, 0);
#endif
}
