// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "core/program/work_share.h"

namespace lime {

/// Prevents a second process from writing an output at the same time.
///
/// Acquires a lock (flock) on `.NAME.lock` next to the output, which names its holder, and removes
/// that file in the end. The system releases the lock of a process that dies, so there are no stale
/// locks; a lock file that was left behind is reused.
/// Processes that share the work lock it together, each its own share. If the file system has no
/// locks, or the folder is not writable, nothing is locked and the write itself reports the error.
class OutputLock {
 public:
  /// Locks at once or not at all.
  /// @param user  the file that the output is part of, if it is another
  /// @throws InvalidArgument  if another process writes the output, or the same share of it.
  explicit OutputLock(const std::filesystem::path& output, const WorkShare& share = {},
                      const std::filesystem::path& user = {});

 private:
  /// One locked file.
  struct File {
    std::filesystem::path path;
    int descriptor = -1;
  };
  struct Release {
    void operator()(File* file) const;
  };
  using Lock = std::unique_ptr<File, Release>;

  Lock whole_;  // null if the file system has no locks
  Lock share_;
};

}  // namespace lime
