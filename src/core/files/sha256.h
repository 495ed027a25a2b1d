// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // of OpenSSL

namespace lime {

/// Accumulates a SHA-256 digest. Not thread-safe.
class Sha256 {
 public:
  Sha256();

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  /// Returns 64 lower-case hexadecimal digits. Call once.
  std::string hex_digest();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

std::string sha256_of(std::string_view text);
/// @param on_read  called after every block with its bytes. @throws IoError
std::string sha256_of_file(const std::filesystem::path& path,
                           const std::function<void(std::int64_t)>& on_read = {});

}  // namespace lime
