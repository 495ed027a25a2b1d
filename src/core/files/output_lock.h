// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "core/threads/work_share.h"

namespace lime {

/// Keeps a second process off an output while this one writes it.
///
/// Takes a lock (flock) on `.NAME.lock` beside the output, which names its holder, and removes that
/// file in the end. The system drops the lock of a process that dies, so that there are no stale
/// ones; a lock file that it left behind is taken over. A forked child does not hold it. Processes
/// that share the work lock it together, each its share alone. Where the file system has no locks,
/// or the folder takes no files, nothing is locked: whoever writes finds out.
class OutputLock {
 public:
  /// Locks at once or not at all.
  /// @param user  the file that the output is part of, if it is another: whoever comes second is
  ///              told.
  /// @throws InvalidArgument  if another process writes the output, or the same share of it.
  explicit OutputLock(const std::filesystem::path& output, const WorkShare& share = {},
                      const std::filesystem::path& user = {});
  ~OutputLock();
  OutputLock(OutputLock&& other) noexcept;
  OutputLock& operator=(OutputLock&& other) noexcept;

 private:
  /// One locked file; closed if it has no name.
  struct File {
    std::filesystem::path path;
    int descriptor = -1;
  };
  void take(File& file, bool is_shared) const;
  static void release(File& file);

  std::filesystem::path output_;
  std::filesystem::path user_;
  File whole_;
  File share_;
};

}  // namespace lime
