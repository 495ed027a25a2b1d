// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lime {

/// Whether somebody listens on `port` of the machine `address` (a name or a number), and says so
/// within a second. Thread-safe.
bool is_listening(const std::string& address, std::uint16_t port);

}  // namespace lime
