// SPDX-License-Identifier: Apache-2.0
// Two classes of one name in one namespace make a program undefined as soon as it links both, and
// no linker says so.

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

/// Returns "namespace::Type" of the types defined at the left margin of a header, which is where
/// clang-format puts those of a namespace.
std::set<std::string> types_of(const std::filesystem::path& file) {
  static const std::regex definition(
      R"(^(?:namespace ([\w:]+) \{|(?:class|struct|enum class|union) (\w+)[^;\n]*$))",
      std::regex::multiline);
  const std::string text = testing::read_text(file);
  std::set<std::string> types;
  std::string space;
  for (std::sregex_iterator found(text.begin(), text.end(), definition), end; found != end;
       ++found) {
    if ((*found)[1].matched) {
      space = (*found)[1];
    } else {
      types.insert(space + "::" + (*found)[2].str());
    }
  }
  return types;
}

TEST(TypeNamesTest, AreDefinedInOneHeaderPerNamespace) {
  std::map<std::string, std::filesystem::path> header_of_type;
  for (const char* folder : {"src", "app"}) {
    for (const auto& file : testing::sources_below(testing::source_file(folder))) {
      if (file.extension() != ".h") continue;
      for (const std::string& type : types_of(file)) {
        const auto [at, is_new] = header_of_type.emplace(type, file);
        EXPECT_TRUE(is_new) << type << " is defined in " << at->second << " and in " << file;
      }
    }
  }
  EXPECT_GT(header_of_type.size(), 800U);
}

}  // namespace
}  // namespace lime
