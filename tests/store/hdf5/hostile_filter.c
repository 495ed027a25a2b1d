/* SPDX-License-Identifier: Apache-2.0 */
/* A filter plug-in as an attacker would lay it out: it leaves a mark as soon as it is loaded. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void leave_mark(void) {
  const char* const path = getenv("LIME_HOSTILE_MARK");
  FILE* const mark = path == NULL ? NULL : fopen(path, "w");
  if (mark != NULL) fclose(mark);
}

int H5PLget_plugin_type(void) { return 0; }
const void* H5PLget_plugin_info(void) { return NULL; }
