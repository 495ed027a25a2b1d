// SPDX-License-Identifier: Apache-2.0
// A disk that fails, to be preloaded: from the LIME_FAIL_AT-th call on (from 1), each call of the
// kind LIME_FAIL_CALL ("write" or "sync") on a file whose path begins with LIME_FAIL_UNDER fails
// with the error number LIME_FAIL_WITH. A failing write writes nothing, as on a full disk.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static int is_below(int descriptor, const char* folder) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strncmp(path, folder, strlen(folder)) == 0;
}

/// Returns true if this call must fail; then sets errno.
static int fails(const char* kind, int descriptor) {
  const char* const folder = getenv("LIME_FAIL_UNDER");
  const char* const call = getenv("LIME_FAIL_CALL");
  const char* const at = getenv("LIME_FAIL_AT");
  const char* const with = getenv("LIME_FAIL_WITH");
  if (folder == NULL || call == NULL || at == NULL || with == NULL) return 0;
  if (strcmp(call, kind) != 0 || !is_below(descriptor, folder)) return 0;
  if (atomic_fetch_add(&calls, 1) + 1 < atol(at)) return 0;
  errno = atoi(with);
  return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int descriptor, const void* bytes, size_t count) {
  return fails("write", descriptor) ? -1 : NEXT(write)(descriptor, bytes, count);
}

ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  return fails("write", descriptor) ? -1 : NEXT(writev)(descriptor, parts, count);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t place) {
  return fails("write", descriptor) ? -1 : NEXT(pwrite)(descriptor, bytes, count, place);
}

ssize_t pwritev(int descriptor, const struct iovec* parts, int count, off_t place) {
  return fails("write", descriptor) ? -1 : NEXT(pwritev)(descriptor, parts, count, place);
}

ssize_t pwritev64(int descriptor, const struct iovec* parts, int count, off64_t place) {
  return fails("write", descriptor) ? -1 : NEXT(pwritev64)(descriptor, parts, count, place);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t count, off64_t place) {
  return fails("write", descriptor) ? -1 : NEXT(pwrite64)(descriptor, bytes, count, place);
}

int fsync(int descriptor) { return fails("sync", descriptor) ? -1 : NEXT(fsync)(descriptor); }

int fdatasync(int descriptor) {
  return fails("sync", descriptor) ? -1 : NEXT(fdatasync)(descriptor);
}
