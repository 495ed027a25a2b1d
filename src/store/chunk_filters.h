// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store: what HDF5's filters make of a chunk, past HDF5 and its lock.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lime {

/// The level of deflate: the fastest. Higher ones gain little on what shuffle leaves of floats.
inline constexpr unsigned kDeflateLevel = 1;

/// Of HDF5's filter mask, where deflate follows shuffle: the chunk was left as shuffle made it.
inline constexpr std::uint32_t kDeflateSkipped = 1U << 1;

/// A chunk as it lies in the file: its Fletcher-32 checksum are the last four bytes.
struct StoredChunk {
  std::vector<std::byte> bytes;
  std::uint32_t checksum = 0;
  std::uint32_t skipped_filters = 0;  ///< HDF5's filter mask
};

/// Appends the checksum.
StoredChunk checksummed(std::vector<std::byte> bytes);

/// Shuffles, deflates and appends the checksum. Values that deflate does not make smaller are
/// shuffled only, as HDF5's own filter leaves them. Equal values give equal bytes.
/// @param values  of a whole chunk, each of `value_bytes`, 2 or 4.
StoredChunk compressed(std::vector<std::byte> values, std::size_t value_bytes);

/// HDF5's shuffle: the first bytes of all values, then their second bytes, and so on.
/// @param planes  as many bytes as `values`, which are whole values of 2 or 4 bytes.
void shuffle(std::span<const std::byte> values, std::size_t value_bytes,
             std::span<std::byte> planes);

/// Undoes shuffle for the values from number `first` on, as many as `values` has room for.
void unshuffle(std::span<const std::byte> planes, std::size_t value_bytes, std::size_t first,
               std::span<std::byte> values);

/// Undoes deflate into exactly `bytes`, never more.
/// @return what is wrong with the stream; empty if nothing is.
std::string_view inflate_into(std::span<const std::byte> stream, std::span<std::byte> bytes);

}  // namespace lime
