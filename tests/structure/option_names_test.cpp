// SPDX-License-Identifier: Apache-2.0
// An error about an option carries its name (OptionName), which programs then spell as it is typed:
// --batch-size. A name in the text of the error would stay as the struct spells it: batch_size.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "structure/source_files.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> all_sources() {
  std::vector<fs::path> files = testing::sources_below(testing::source_file("src"));
  for (const fs::path& file : testing::sources_below(testing::source_file("app"))) {
    files.push_back(file);
  }
  return files;
}

/// Returns the text of `file` without comments that fill a line.
std::string without_comments(const fs::path& file) {
  std::ifstream stream(file);
  std::string code;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos || line.compare(first, 2, "//") != 0) code += line + '\n';
  }
  return code;
}

/// Returns the options of several words that describe() functions add.
std::set<std::string> long_options() {
  static const std::regex added(R"re(\badd\(\s*"([a-z0-9]+(?:_[a-z0-9]+)+)")re");
  std::set<std::string> names;
  for (const fs::path& file : all_sources()) {
    const std::string code = without_comments(file);
    for (std::sregex_iterator at(code.begin(), code.end(), added), end; at != end; ++at) {
      names.insert((*at)[1]);
    }
  }
  return names;
}

TEST(OptionNamesTest, ErrorsCarryTheNamesOfOptions) {
  static const std::regex headed(R"re("([a-z0-9]+(?:_[a-z0-9]+)+): )re");
  const std::set<std::string> options = long_options();
  EXPECT_GT(options.size(), 100U);
  EXPECT_TRUE(options.contains("batch_size"));
  for (const fs::path& file : all_sources()) {
    const std::string code = without_comments(file);
    for (std::sregex_iterator at(code.begin(), code.end(), headed), end; at != end; ++at) {
      EXPECT_FALSE(options.contains((*at)[1]))
          << file << ": write OptionName(\"" << (*at)[1] << "\"), and the problem without the name";
    }
  }
}

}  // namespace
}  // namespace lime
