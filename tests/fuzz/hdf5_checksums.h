// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace lime::fuzz {

/// Repairs the checksums of the superblock, object headers, fractal heaps, B-trees and chunk tables
/// of an HDF5 file of version 1.10, as an attacker would. Otherwise checksums reject nearly every
/// mutation, and the code behind them is never tested.
/// Source: HDF5 File Format Specification 3.0, sections II, III and IV.
void repair_checksums(std::span<std::uint8_t> file);

}  // namespace lime::fuzz
