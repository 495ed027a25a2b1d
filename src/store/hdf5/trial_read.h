// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <filesystem>

namespace lime {

/// Reads in a child process everything that HDF5 itself reads from a file: groups, links,
/// attributes, texts, and numbers (at most 2^27 per dataset), except activations, whose chunks we
/// read ourselves.
///
/// HDF5 1.10 trusts sizes and addresses in files; malicious ones make it crash, loop, or allocate
/// all memory. Here this only terminates the child, which is limited to the CPU time and memory
/// that a file of this size can need, and the file is rejected. Errors that HDF5 reports are left
/// to the next read. If the system does not allow a child process, the file is not tried.
/// LIME_TRIAL_SECONDS in the environment sets the base of the CPU time limit (default: 1), which
/// grows with the file size.
/// @throws FormatError  if the child crashed, or exceeded its time or memory.
/// @throws InvalidArgument  if LIME_TRIAL_SECONDS is not an integer from 1 to 3600.
/// Thread-safe. Cost, once per process and file state: a fork, and reading the capture's tables
/// once more.
void try_reading(const std::filesystem::path& path);

}  // namespace lime
