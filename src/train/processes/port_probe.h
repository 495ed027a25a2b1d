// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lime {

/// Returns true if a server listens on `port` of the host `address` (a name or a number). Takes at
/// most one second. Thread-safe.
bool is_listening(const std::string& address, std::uint16_t port);

}  // namespace lime
