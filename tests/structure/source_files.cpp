// SPDX-License-Identifier: Apache-2.0

#include "structure/source_files.h"

#include <algorithm>
#include <fstream>

namespace lime::testing {

namespace fs = std::filesystem;

std::vector<fs::path> sources_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".h" || extension == ".cpp") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> include_lines(const fs::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> includes;
  std::string line;
  while (std::getline(stream, line)) {
    if (line.starts_with("#include")) includes.push_back(line);
  }
  return includes;
}

std::string included_name(const std::string& include_line) {
  const std::size_t begin = include_line.find_first_of("<\"") + 1;
  return include_line.substr(begin, include_line.find_first_of(">\"", begin) - begin);
}

}  // namespace lime::testing
