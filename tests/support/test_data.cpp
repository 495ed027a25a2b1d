// SPDX-License-Identifier: Apache-2.0
#include "support/test_data.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace lime::testing {

namespace fs = std::filesystem;

fs::path test_data(const std::string& path) {
  const char* const setting = std::getenv("LIME_TEST_DATA");
  return fs::path(setting != nullptr ? setting : LIME_TEST_DATA_DEFAULT) / path;
}

std::string skip_reason(const fs::path& missing) {
  return "'" + missing.string() + "' is absent; set LIME_TEST_DATA to the folder of test data";
}

fs::path real_model_file(const std::string& extension) {
  const char* const setting = std::getenv("LIME_REAL_MODEL");
  if (setting == nullptr || !fs::is_directory(setting)) return {};
  std::set<fs::path> found;
  for (auto entry = fs::recursive_directory_iterator(setting); entry != fs::end(entry); ++entry) {
    if (entry.depth() > 0) entry.disable_recursion_pending();
    if (entry->path().extension() == extension) found.insert(entry->path());
  }
  return found.empty() ? fs::path() : *found.begin();
}

fs::path golden_file(const std::string& path) { return source_file("tests/golden/" + path); }

fs::path source_file(const std::string& path) { return fs::path(LIME_SOURCE_DIR) / path; }

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "lime-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_text(const fs::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

std::string read_text(const fs::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

ProgramRun run_command(const std::string& command) {
  const TemporaryFolder folder;
  const fs::path out = folder / "out";
  const fs::path err = folder / "err";
  const int status = std::system(
      ("( " + command + " ) >'" + out.string() + "' 2>'" + err.string() + "' </dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(out),
          read_text(err)};
}

}  // namespace lime::testing
