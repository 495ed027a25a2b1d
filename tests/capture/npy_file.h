// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lime::testing {

/// Returns the bytes of a .npy file of version 1 with the given header dictionary and data.
inline std::string npy_bytes(const std::string& dictionary, const std::string& data) {
  std::string header = dictionary;
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

/// Returns a .npy file of int32 ids with the given shape, e.g. "(2, 3)".
inline std::string npy_int32(const std::vector<std::int32_t>& ids, const std::string& shape) {
  const std::string data(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(ids[0]));
  return npy_bytes("{'descr': '<i4', 'fortran_order': False, 'shape': " + shape + ", }", data);
}

}  // namespace lime::testing
