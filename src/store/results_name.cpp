// SPDX-License-Identifier: Apache-2.0
#include "store/results_name.h"

namespace lime {

std::string results_stem(const std::filesystem::path& results) {
  std::string name = results.filename().string();
  for (const std::string_view ending : {".json", ".csv", ".tex", ".txt"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
      break;
    }
  }
  return name;
}

std::filesystem::path companion_of(const std::filesystem::path& results, std::string_view suffix) {
  return results.parent_path() / results_stem(results).append(suffix);
}

}  // namespace lime
