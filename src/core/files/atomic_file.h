// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

namespace lime {

/// A file that appears under its final name whole or not at all.
///
/// The content is written to `temporary()` in the same folder; commit() syncs it, renames it over
/// the final name and syncs the folder. Without commit() the destructor removes the temporary.
class AtomicFile {
 public:
  /// @throws IoError  if the folder does not exist or may not be written to, or what has the name
  ///                  is no regular file: a device would be replaced.
  explicit AtomicFile(std::filesystem::path final_path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// `.NAME.part-HOST-PID` beside the final file; created empty by the constructor, which removes
  /// those that killed processes left.
  const std::filesystem::path& temporary() const { return temporary_; }
  const std::filesystem::path& path() const { return final_path_; }

  /// @throws IoError  if syncing or renaming fails; the final file is then as it was.
  void commit();
  /// The same where there is no final file yet; of several processes one succeeds.
  /// @return false if there is one; it stays as it is. @throws IoError
  bool commit_new();

 private:
  std::filesystem::path final_path_;
  std::filesystem::path temporary_;
  bool committed_ = false;
};

/// Writes `content` to `path` whole or not at all. @throws IoError
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Writes `content` to `path` where there is no file of that name; of several processes that do it
/// at once one succeeds. @return false if there is one; it stays as it is. @throws IoError
bool write_new_file(const std::filesystem::path& path, std::string_view content);

/// Calls `write` with a stream whose content then becomes `path`, whole or not at all.
/// @throws IoError  also when the stream went bad (no space left).
void write_file_atomically(const std::filesystem::path& path,
                           const std::function<void(std::ostream&)>& write);

/// Removes what killed runs left behind: `.NAME.part-HOST-*` of this machine's processes that
/// no longer exist. Those of other machines stay: their processes cannot be seen from here, and a
/// lock (OutputLock) may hold on this machine only.
void remove_stale_temporaries(const std::filesystem::path& final_path);

/// The name of this machine. Process numbers are unique on one only, but a folder may have several.
std::string host_name();

/// Text of errno `code`, with a hint for "no space" and "permission denied".
std::string describe_errno(int code);

}  // namespace lime
