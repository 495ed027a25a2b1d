// SPDX-License-Identifier: Apache-2.0
// Checks that every header compiles alone, without compiling each: a source that includes its own
// header first proves it, except for what the precompiled headers provide: used_names_test checks
// the names of the standard library and of Qt, this test those of other libraries. The headers
// without a source are compiled by the test HeadersCompileAlone.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "structure/source_files.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using testing::include_lines;
using testing::included_name;
using testing::sources_below;

/// Namespaces of precompiled libraries, and the prefixes of their headers' names.
const std::map<std::string, std::string>& library_headers() {
  static const std::map<std::string, std::string> headers = {
      {"Eigen", "Eigen/|Spectra/"}, {"fmt", "fmt/"},           {"nlohmann", "nlohmann/"},
      {"at", "ATen/|torch/"},       {"torch", "torch/|ATen/"}, {"c10", "c10/|ATen/|torch/"}};
  return headers;
}

/// Collects the names of all headers that `file` includes, also through our headers.
void collect_includes(const fs::path& file, std::set<std::string>& names) {
  for (const std::string& line : include_lines(file)) {
    const std::string name = included_name(line);
    if (!names.insert(name).second) continue;
    const fs::path own = testing::source_file("src/" + name);
    if (fs::exists(own)) collect_includes(own, names);
  }
}

/// Returns the text of a header without comments and string literals.
std::string code_of(const fs::path& file) {
  static const std::regex not_code(R"(//[^\n]*|"(\\.|[^"\\\n])*")");
  return std::regex_replace(testing::read_text(file), not_code, "");
}

TEST(HeadersTest, EverySourceIncludesItsOwnHeaderFirst) {
  const fs::path root = testing::source_file("src");
  for (const fs::path& file : sources_below(root)) {
    fs::path header = file;
    header.replace_extension(".h");
    if (file.extension() != ".cpp" || !fs::exists(header)) continue;
    const auto lines = include_lines(file);
    const std::string expected = "#include \"" + fs::relative(header, root).string() + "\"";
    ASSERT_FALSE(lines.empty()) << file;
    EXPECT_EQ(lines.front(), expected) << file;
  }
}

TEST(HeadersTest, IncludeWhatTheyUseOfThePrecompiledLibraries) {
  for (const fs::path& file : sources_below(testing::source_file("src"))) {
    if (file.extension() != ".h") continue;
    std::set<std::string> included;
    collect_includes(file, included);
    const std::string code = code_of(file);
    for (const auto& [space, prefixes] : library_headers()) {
      if (!std::regex_search(code, std::regex("\\b" + space + "::"))) continue;
      const std::regex header("(" + prefixes + ").*");
      bool found = false;
      for (const std::string& name : included) found = found || std::regex_match(name, header);
      EXPECT_TRUE(found) << file << " uses " << space << ":: and includes none of " << prefixes;
    }
  }
}

}  // namespace
}  // namespace lime
