// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/errors.h"

namespace lime::testing {

/// Returns the message of the `Exception` that `call` throws; empty if it throws nothing.
template <typename Exception = Error, typename Call> std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace lime::testing
