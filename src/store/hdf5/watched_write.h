// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace lime::hdf5 {

/// Notes the place where HDF5 writes `data()` to a file of create_file(). Hold the lock.
class WatchedWrite {
 public:
  /// Watches the write of `data`, which the caller keeps.
  explicit WatchedWrite(const void* data);
  /// Watches the write of `size` zeros, and prevents it: a chunk is allocated, and other threads
  /// can write it without the lock.
  explicit WatchedWrite(std::size_t size);
  ~WatchedWrite();
  WatchedWrite(const WatchedWrite&) = delete;
  WatchedWrite& operator=(const WatchedWrite&) = delete;

  const void* data() const;
  /// Returns the place in the file; nothing if HDF5 copied the data, or wrote nothing yet.
  std::optional<std::uint64_t> place() const;
};

/// Returns the driver of the files whose writes can be watched: the system's, with a write function
/// of our own. @return negative if it cannot be registered
hid_t watched_driver();

}  // namespace lime::hdf5
