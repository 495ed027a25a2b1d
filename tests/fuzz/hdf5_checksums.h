// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace lime::fuzz {

/// Puts right the checksums of the superblock, object headers, fractal heaps, B-trees and chunk
/// tables of an HDF5 file of version 1.10, as whoever forges a file would; without this nearly
/// every changed byte is refused by its checksum, and what lies behind is never tried.
/// Source: HDF5 File Format Specification 3.0, sections II, III and IV.
void repair_checksums(std::span<std::uint8_t> file);

}  // namespace lime::fuzz
