// SPDX-License-Identifier: Apache-2.0
// The functions of cuSOLVER that the GPU module calls, with LAPACK on the CPU. It fails as the
// environment variable LIME_CUSOLVER_FAILURE says: "handle", "size", "status" or "info".
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void dsyevd_(const char* vectors, const char* triangle, const int* n, double* a, const int* stride,
             double* w, double* work, const int* work_size, int* integers, const int* integers_size,
             int* info);

enum { kInternalError = 7, kNotSupported = 9 };

static int calls;

static int fails(const char* kind) {
  const char* const failure = getenv("LIME_CUSOLVER_FAILURE");
  return failure != NULL && strcmp(failure, kind) == 0;
}

/// Returns the number of batches that were computed.
int lime_cusolver_calls(void) { return calls; }

int cusolverDnCreate(void** handle) {
  if (fails("handle")) return kInternalError;
  *handle = &calls;
  return 0;
}

int cusolverDnCreateParams(void** params) {
  *params = &calls;
  return 0;
}

int cusolverDnXsyevBatched_bufferSize(void* handle, void* params, int vectors, int triangle,
                                      int64_t n, int a_type, const void* a, int64_t a_stride,
                                      int w_type, const void* w, int compute_type,
                                      size_t* device_bytes, size_t* host_bytes, int64_t count) {
  (void)a;
  (void)w;
  if (fails("size")) return kNotSupported;
  if (handle != &calls || params != &calls || vectors != 0 || triangle != 1 || a_stride != n ||
      a_type != 1 || w_type != 1 || compute_type != 1 || count < 1) {
    return kInternalError;
  }
  *device_bytes = (2 * (size_t)n + 1) * sizeof(double);
  *host_bytes = sizeof(int);
  return 0;
}

int cusolverDnXsyevBatched(void* handle, void* params, int vectors, int triangle, int64_t n,
                           int a_type, void* a, int64_t a_stride, int w_type, void* w,
                           int compute_type, void* on_device, size_t device_bytes, void* on_host,
                           size_t host_bytes, int* info, int64_t count) {
  size_t needed_on_device = 0, needed_on_host = 0;
  const int status = cusolverDnXsyevBatched_bufferSize(handle, params, vectors, triangle, n, a_type,
                                                       a, a_stride, w_type, w, compute_type,
                                                       &needed_on_device, &needed_on_host, count);
  if (status != 0 || fails("status") || device_bytes < needed_on_device ||
      host_bytes < needed_on_host) {
    return kInternalError;
  }
  const int size = (int)n, work_size = 2 * size + 1, one = 1;
  for (int64_t i = 0; i < count; ++i) {
    dsyevd_("N", "U", &size, (double*)a + i * n * n, &size, (double*)w + i * n, on_device,
            &work_size, on_host, &one, info + i);
  }
  if (fails("info")) info[count - 1] = 5;
  ++calls;
  return 0;
}
