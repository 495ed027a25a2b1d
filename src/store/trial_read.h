// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <filesystem>

namespace lime {

/// Has a child process read what HDF5 itself reads of a file: groups, links, attributes, texts, and
/// numbers (of one dataset at most 2^27) but for activations, whose chunks we read ourselves.
///
/// HDF5 1.10 trusts sizes and addresses in files; at forged ones it crashes, loops, or asks for all
/// memory there is. Here that ends the child, which has the processor time and the memory that a
/// file of this size can need, and the file is refused. Errors that HDF5 reports are left to
/// whoever reads next. Where the system allows no child, the file is not tried.
/// The time, from a second on, begins with LIME_TRIAL_SECONDS of the environment where it is set.
/// @throws FormatError  if the child has died, or has run out of time or memory.
/// @throws InvalidArgument  if LIME_TRIAL_SECONDS is no whole number from 1 to 3600.
/// Thread-safe. Cost, once per process and state of the file: a fork, and the capture's tables read
/// once more.
void try_reading(const std::filesystem::path& path);

}  // namespace lime
