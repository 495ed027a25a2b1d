// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <filesystem>

namespace lime {

/// Has the helper program lime-trial-read (src/store/trial) read everything that HDF5 itself reads
/// from a file: groups, links, attributes, texts, and numbers (at most 2^27 per dataset), except
/// activations, whose chunks we read ourselves.
///
/// HDF5 1.10 trusts sizes and addresses in files; malicious ones make it crash, loop, or allocate
/// all memory. Here this only terminates the helper, which is limited to the CPU time and memory
/// that a file of this size can need, and the file is rejected. Errors that HDF5 reports are left
/// to the next read. If the helper cannot be started, the file is not tried.
/// @throws FormatError  if the helper crashed, or exceeded its time or memory. Thread-safe. Cost,
/// once per process and file state: starting the helper, reading the tables.
void try_reading(const std::filesystem::path& path);

/// Exit statuses of the helper, besides 0.
namespace trial {
inline constexpr int kOutOfMemory = 3;
inline constexpr int kNotListed = 4;
}  // namespace trial

}  // namespace lime
