// SPDX-License-Identifier: Apache-2.0
// A system without room for threads, to be preloaded: where LIME_MOST_THREADS of them run beside
// the first, as pids.max of a control group allows them, no other one can be started.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_long running;

struct start {
  void* (*routine)(void*);
  void* argument;
};

static void* run(void* argument) {
  struct start start = *(struct start*)argument;
  free(argument);
  void* result = start.routine(start.argument);
  atomic_fetch_sub(&running, 1);
  return result;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                   void* argument) {
  const char* const most = getenv("LIME_MOST_THREADS");
  struct start* start = malloc(sizeof *start);
  if (start == NULL) return EAGAIN;
  start->routine = routine;
  start->argument = argument;
  int error = EAGAIN;
  if (atomic_fetch_add(&running, 1) < (most == NULL ? 1L << 30 : atol(most))) {
    error = ((__typeof__(&pthread_create))dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes,
                                                                              run, start);
  }
  if (error != 0) {
    atomic_fetch_sub(&running, 1);
    free(start);
  }
  return error;
}
