// SPDX-License-Identifier: Apache-2.0
#include "train/token_shards.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ostream>

#include "core/errors.h"
#include "core/files/atomic_file.h"

namespace lime {
namespace {

/// Calls `run` with a number of the type in which ids are stored.
template <typename Run> void with_stored_type(int bytes_per_token, const Run& run) {
  bytes_per_token == 2 ? run(std::uint16_t{}) : run(std::uint32_t{});
}

}  // namespace

TokenShards::TokenShards(std::span<const std::filesystem::path> files, int bytes_per_token)
    : bytes_per_token_(bytes_per_token) {
  for (const std::filesystem::path& file : files) {
    files_.emplace_back(file);
    const auto bytes = static_cast<std::int64_t>(files_.back().size());
    throw_if<FormatError>(bytes % bytes_per_token != 0,
                          "'{}': must contain ids of {} bytes each, got {} bytes; tokenise again",
                          file.string(), bytes_per_token, bytes);
    ends_.push_back(size() + bytes / bytes_per_token);
  }
}

void TokenShards::copy(std::int64_t begin, std::span<std::int64_t> ids) const {
  throw_if(begin < 0 || begin + static_cast<std::int64_t>(ids.size()) > size(),
           "tokens: {} to {} must be within the {} available tokens", begin,
           begin + static_cast<std::int64_t>(ids.size()), size());
  auto file = static_cast<std::size_t>(std::ranges::upper_bound(ends_, begin) - ends_.begin());
  while (!ids.empty()) {
    const std::int64_t file_begin = file == 0 ? 0 : ends_[file - 1];
    const std::size_t count = std::min(ids.size(), static_cast<std::size_t>(ends_[file] - begin));
    const std::byte* const stored =
        files_[file].bytes().data() + (begin - file_begin) * bytes_per_token_;
    with_stored_type(bytes_per_token_, [&](auto id) {
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(&id, stored + i * sizeof(id), sizeof(id));
        ids[i] = id;
      }
    });
    ids = ids.subspan(count);
    begin += static_cast<std::int64_t>(count);
    ++file;
  }
}

void write_token_shard(const std::filesystem::path& file, std::span<const std::int32_t> ids,
                       int bytes_per_token) {
  constexpr std::size_t kIdsAtOnce = 1 << 16;
  write_file_atomically(file, [&](std::ostream& stream) {
    with_stored_type(bytes_per_token, [&](auto id) {
      std::vector<decltype(id)> narrow;
      for (std::size_t begin = 0; begin < ids.size(); begin += kIdsAtOnce) {
        const auto part = ids.subspan(begin, std::min(kIdsAtOnce, ids.size() - begin));
        narrow.assign(part.begin(), part.end());
        stream.write(reinterpret_cast<const char*>(narrow.data()),
                     static_cast<std::streamsize>(narrow.size() * sizeof(id)));
      }
    });
  });
}

}  // namespace lime
