// SPDX-License-Identifier: Apache-2.0
#include "store/file_names.h"

#include <initializer_list>

namespace lime {
namespace {

std::string name_without(std::initializer_list<std::string_view> endings,
                         const std::filesystem::path& path) {
  std::string name = path.filename().string();
  for (const std::string_view ending : endings) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      return name.substr(0, name.size() - ending.size());
    }
  }
  return name;
}

}  // namespace

std::string capture_stem(const std::filesystem::path& capture) {
  return name_without({".h5", ".hdf5"}, capture);
}

std::filesystem::path shard_folder_of(const std::filesystem::path& capture) {
  return capture.parent_path() / (capture_stem(capture) + ".shards");
}

std::string results_stem(const std::filesystem::path& results) {
  return name_without({".json", ".csv", ".tex", ".txt"}, results);
}

std::filesystem::path companion_of(const std::filesystem::path& results, std::string_view suffix) {
  return results.parent_path() / results_stem(results).append(suffix);
}

}  // namespace lime
