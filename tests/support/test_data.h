// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace lime::testing {

/// Returns `path` in the folder of real checkpoints and texts: the environment variable
/// LIME_TEST_DATA, else the CMake setting of that name (default ../shared). The file need not
/// exist:
///
///   const auto folder = test_data("checkpoints/stories260k");
///   if (!exists(folder)) GTEST_SKIP() << skip_reason(folder);
std::filesystem::path test_data(const std::string& path);

/// Returns one line with the missing path and how to set LIME_TEST_DATA.
std::string skip_reason(const std::filesystem::path& missing);

/// Returns the first file, by name, with this extension in the folder LIME_REAL_MODEL or in one of
/// its folders, which contain the files of a released model; empty if there is none:
///
///   const auto model = real_model_file(".gguf");
///   if (model.empty()) GTEST_SKIP() << "no .gguf file in the folder LIME_REAL_MODEL";
///
/// Suites of such tests have RealModel in their name; ctest labels them `real`.
std::filesystem::path real_model_file(const std::string& extension);

/// Returns `path` in tests/golden, which is part of the repository.
std::filesystem::path golden_file(const std::string& path);

/// Returns `path` in the repository's root.
std::filesystem::path source_file(const std::string& path);

/// A new, empty folder that is removed with this object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Writes `content` to `path`, for tests of invalid files.
void write_text(const std::filesystem::path& path, const std::string& content);
std::string read_text(const std::filesystem::path& path);

/// Exit status and output of a program.
struct ProgramRun {
  int status = 0;
  std::string output;  ///< standard output
  std::string errors;  ///< standard error
};

/// Runs `command` through the shell and waits for it.
ProgramRun run_command(const std::string& command);

}  // namespace lime::testing
