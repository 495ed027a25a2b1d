// SPDX-License-Identifier: Apache-2.0
// Checks that every header compiles alone, without compiling each: a source that includes its own
// header first proves it, except for what the precompiled headers provide, which is checked in the
// text. The headers without a source are compiled by the test HeadersCompileAlone.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "structure/source_files.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using testing::include_lines;
using testing::included_name;
using testing::sources_below;

/// A header of the standard library, and the names of std that require it.
struct Provider {
  const char* header;
  const char* names;
};

/// Names that our headers use from the headers precompiled by cmake/PrecompiledHeaders.cmake. A
/// name in several rows may come from any of these.
constexpr Provider kProviders[] = {
    {"algorithm", "sort stable_sort min max clamp copy fill transform any_of all_of find find_if"},
    {"array", "array"},
    {"atomic", "atomic"},
    {"chrono", "chrono"},
    {"cmath", "sqrt log exp isfinite isnan pow abs floor"},
    {"cstdint", "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t"},
    {"cstring", "memcpy memcmp memset"},
    {"filesystem", "filesystem"},
    {"fstream", "ifstream ofstream ostream istream"},
    {"functional", "function hash reference_wrapper less"},
    {"limits", "numeric_limits"},
    {"map", "map multimap pair less"},
    {"memory", "unique_ptr shared_ptr weak_ptr make_unique make_shared"},
    {"mutex", "mutex recursive_mutex lock_guard unique_lock scoped_lock once_flag call_once"},
    {"numeric", "accumulate iota"},
    {"optional", "optional nullopt"},
    {"ostream", "ostream"},
    {"iostream", "ostream istream"},
    {"set", "set multiset less"},
    {"span", "span"},
    {"sstream", "ostringstream istringstream stringstream ostream"},
    {"stop_token", "stop_token stop_source stop_callback"},
    {"string", "string to_string string_view pair move forward initializer_list"},
    {"string_view", "string_view"},
    {"system_error", "error_code errc system_error"},
    {"charconv", "from_chars to_chars errc"},
    {"thread", "thread jthread stop_token stop_source"},
    {"unordered_map", "unordered_map pair"},
    {"utility", "pair move forward exchange swap as_const"},
    {"variant", "variant visit monostate"},
    {"vector", "vector pair move forward initializer_list"},
};

/// Namespaces of precompiled libraries, and the prefixes of their headers' names.
const std::map<std::string, std::string>& library_headers() {
  static const std::map<std::string, std::string> headers = {
      {"Eigen", "Eigen/|Spectra/"}, {"fmt", "fmt/"},           {"nlohmann", "nlohmann/"},
      {"at", "ATen/|torch/"},       {"torch", "torch/|ATen/"}, {"c10", "c10/|ATen/|torch/"}};
  return headers;
}

/// Returns the standard library headers that declare std::`name`; empty if no row has it.
std::set<std::string> headers_of(const std::string& name) {
  std::set<std::string> headers;
  for (const Provider& provider : kProviders) {
    std::istringstream names(provider.names);
    for (std::string word; names >> word;) {
      if (word == name) headers.insert(provider.header);
    }
  }
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

bool shares_a_name(const std::set<std::string>& some, const std::set<std::string>& others) {
  for (const std::string& name : some) {
    if (others.contains(name)) return true;
  }
  return false;
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

TEST(HeadersTest, IncludeWhatTheyUseOfThePrecompiledHeaders) {
  const std::regex standard_name(R"(\bstd::(\w+))");
  for (const fs::path& file : sources_below(testing::source_file("src"))) {
    if (file.extension() != ".h") continue;
    std::set<std::string> included;
    collect_includes(file, included);
    const std::string code = code_of(file);
    std::set<std::string> used;
    for (std::sregex_iterator match(code.begin(), code.end(), standard_name), end; match != end;
         ++match) {
      used.insert((*match)[1]);
    }
    for (const std::string& name : used) {
      const auto providers = headers_of(name);
      EXPECT_TRUE(providers.empty() || shares_a_name(providers, included))
          << file << " uses std::" << name << " without including <" << *providers.begin() << ">";
    }
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
