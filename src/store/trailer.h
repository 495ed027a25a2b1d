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
/// activations, which have their own checksums and whose positions the caller has verified).
///
///   HDF5 bytes | {"data": [[offset, size], ...], "sha256": "..."} | length, 8 bytes | "LIMEEND1"
///
/// HDF5 ignores bytes after its end of file. The digest is verified before HDF5 opens the file,
/// because corruption of its unprotected parts (texts, virtual datasets) can crash HDF5 1.10.
/// @throws IoError
void append_trailer(const std::filesystem::path& path, std::vector<ChecksummedExtent> data);

/// Verifies the trailer. Reads all but the data. Thread-safe.
/// @return false if the file has no trailer, e.g. when written or repacked by another program.
/// @throws FormatError  if the bytes do not match the digest.
bool check_trailer(const std::filesystem::path& path);

}  // namespace lime
