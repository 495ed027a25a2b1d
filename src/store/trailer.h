// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lime {

/// Bytes [offset, offset + size) of a file, the last four of which are their Fletcher-32 checksum.
struct ChecksummedExtent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t checksum = 0;
};

/// Appends to a closed HDF5 file a digest of all its bytes outside of `data` (chunks of
/// activations, which carry checksums of their own; the caller has seen them in their places).
///
///   HDF5 bytes | {"data": [[offset, size], ...], "sha256": "..."} | length, 8 bytes | "LIMEEND1"
///
/// HDF5 ignores what follows its end of file. The digest is tested before HDF5 sees the file,
/// because HDF5 1.10 can be crashed by flipped bytes in its unprotected parts (texts, virtual
/// datasets). @throws IoError
void append_trailer(const std::filesystem::path& path, std::vector<ChecksummedExtent> data);

/// @return false if the file has no trailer, as when another program wrote or repacked it.
/// @throws FormatError  if the bytes do not match the digest.
/// Cost: reads all but the data. Thread-safe.
bool check_trailer(const std::filesystem::path& path);

}  // namespace lime
