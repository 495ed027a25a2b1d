// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

namespace lime {

/// Returns true if there is a file or folder at `path`; false if the system does not tell.
bool path_exists(const std::filesystem::path& path);

/// Selects if make_folder() also creates the parent folders.
enum class Parents { kMustExist, kCreate };

/// Creates the folder unless it exists. @throws IoError
void make_folder(const std::filesystem::path& folder, Parents parents = Parents::kMustExist);

/// Writes a file that appears under its final name complete or not at all.
///
/// The content is written to `temporary()` in the same folder; commit() syncs it, renames it over
/// the final name and syncs the folder. Without commit() the destructor removes the temporary.
class AtomicFile {
 public:
  /// @throws IoError  if the folder does not exist or is not writable, or the name is a device.
  explicit AtomicFile(std::filesystem::path final_path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Returns `.NAME.part-HOST-PID` beside the final file; the constructor creates it empty.
  const std::filesystem::path& temporary() const { return temporary_; }
  const std::filesystem::path& path() const { return final_path_; }

  /// @throws IoError  if syncing or renaming fails; the final file is then as it was.
  void commit();
  /// Commits only if the final file does not exist yet; of several processes one succeeds.
  /// @return false if it exists; it is left unchanged. @throws IoError
  bool commit_new();

 private:
  std::filesystem::path final_path_;
  std::filesystem::path temporary_;
  bool committed_ = false;
};

/// Writes the temporary of `file` with a stream. @throws IoError  also when the stream went bad.
void write_content(const AtomicFile& file, const std::function<void(std::ostream&)>& write);

/// Writes `content` to `path` completely or not at all. @throws IoError
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// Writes `content` to `path` where there is no file of that name; of several processes that do it
/// at once one succeeds. @return false if there is one; it stays as it is. @throws IoError
bool write_new_file(const std::filesystem::path& path, std::string_view content);

/// Calls `write` with a stream whose content then becomes `path`, completely or not at all.
/// @throws IoError  also when the stream went bad (no space left).
void write_file_atomically(const std::filesystem::path& path,
                           const std::function<void(std::ostream&)>& write);

/// Removes the files of killed runs: `.NAME.part-HOST-*` of processes of this machine that no
/// longer exist. Files of other machines stay because their processes are not visible from here,
/// and a lock (OutputLock) may work on one machine only.
void remove_stale_temporaries(const std::filesystem::path& final_path);

/// Returns the name of this machine, on which process ids are unique.
std::string host_name();

/// Returns the text of errno `code`, with a hint for "no space" and "permission denied".
std::string describe_errno(int code);

}  // namespace lime
