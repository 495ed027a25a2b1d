// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>

#include "core/errors.h"

namespace lime {

/// Throws if a stop was requested, for long calls without a message of their own.
/// @throws Interrupted  if `stop` was requested.
inline void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Interrupted("stopped on request");
}

}  // namespace lime
