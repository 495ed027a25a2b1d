// SPDX-License-Identifier: Apache-2.0
#include "store/capture_name.h"

#include <string_view>

namespace lime {

std::string capture_stem(const std::filesystem::path& capture) {
  std::string name = capture.filename().string();
  for (const std::string_view ending : {".h5", ".hdf5"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
      break;
    }
  }
  return name;
}

std::filesystem::path shard_folder_of(const std::filesystem::path& capture) {
  return capture.parent_path() / (capture_stem(capture) + ".shards");
}

}  // namespace lime
