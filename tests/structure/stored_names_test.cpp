// SPDX-License-Identifier: Apache-2.0
// Names of enumerators are stored in captures, results, journals and sessions: a file that has one
// must stay readable, and mean the same. A rewording of the sources may not change any.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include "structure/source_files.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Collects the names in the tables of an enumeration, `to_array<...>({{Enum::kValue, "name",
/// ...},`.
void collect_rows(const std::string& text, std::map<std::string, std::string>& tables) {
  static const std::regex row(R"re(\{([A-Z]\w*)::k\w+,\s+"([^"]*)")re");
  for (std::size_t at = text.find("to_array<"); at != text.npos; at = text.find("to_array<", at)) {
    const std::size_t end = text.find("});", at);
    const std::string table = text.substr(at, end - at);
    for (std::sregex_iterator n(table.begin(), table.end(), row), none; n != none; ++n) {
      std::string& names = tables[(*n)[1].str()];
      names += (names.empty() ? "" : ", ") + (*n)[2].str();
    }
    at = end;
  }
}

/// Collects "Enum: name, name, ..." of each enum_table() and each table of rows below `folder`, by
/// enumeration.
void collect_tables(const fs::path& folder, std::map<std::string, std::string>& tables) {
  static const std::regex table(R"(enum_table<(\w+)>\(([^)]*)\))");
  static const std::regex name(R"re("([^"]*)")re");
  for (const fs::path& file : testing::sources_below(folder)) {
    if (file.filename() == "options.h") continue;  // which declares it
    std::ifstream stream(file);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    for (std::sregex_iterator at(text.begin(), text.end(), table), end; at != end; ++at) {
      const std::string list = (*at)[2];
      std::string names;
      for (std::sregex_iterator n(list.begin(), list.end(), name); n != end; ++n) {
        names += (names.empty() ? "" : ", ") + (*n)[1].str();
      }
      EXPECT_TRUE(tables.emplace((*at)[1].str(), names).second) << (*at)[1] << " in " << file;
    }
    collect_rows(text, tables);
  }
}

std::map<std::string, std::string> pinned_tables() {
  std::map<std::string, std::string> tables;
  std::ifstream stream(testing::source_file("tests/structure/stored_names.txt"));
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("#") || colon == std::string::npos) continue;
    tables.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
  return tables;
}

TEST(StoredNamesTest, AreThoseOfTheList) {
  std::map<std::string, std::string> found;
  collect_tables(testing::source_file("src"), found);
  collect_tables(testing::source_file("app"), found);
  const std::map<std::string, std::string> pinned = pinned_tables();
  EXPECT_GT(pinned.size(), 50U);
  for (const auto& [name, names] : found) {
    const auto at = pinned.find(name);
    ASSERT_NE(at, pinned.end()) << "add to tests/structure/stored_names.txt: " << name << ": "
                                << names;
    EXPECT_EQ(names, at->second) << name << ": files contain the names of the list";
  }
  for (const auto& [name, names] : pinned) EXPECT_TRUE(found.contains(name)) << name;
}

}  // namespace
}  // namespace lime
