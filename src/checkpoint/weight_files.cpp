// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weight_files.h"

#include <map>
#include <string>

#include "checkpoint/checkpoint_files.h"
#include "core/errors.h"
#include "core/files/folder.h"
#include "core/json.h"
#include "core/utf8.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

/// Whether what `file` leads to through symbolic links lies in `folder`. Hugging Face's cache links
/// the files of `REPO/snapshots/REVISION` to `REPO/blobs`, which counts as inside.
bool stays_inside(const fs::path& folder, const fs::path& file) {
  const fs::path home = fs::canonical(folder);
  const fs::path target = fs::canonical(file).parent_path();
  const fs::path revisions = home.parent_path();
  return target == home ||
         (revisions.filename() == "snapshots" && target == revisions.parent_path() / "blobs");
}

/// Names of the tensors of each shard, by the shard's file name.
using ShardMap = std::map<std::string, std::vector<std::string>>;

ShardMap read_index(const fs::path& path) {
  const Json json = read_json_file(path);
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object() || map->empty()) {
    throw FormatError("'{}': must have an object 'weight_map' that maps tensors to shards",
                      path.string());
  }
  ShardMap shards;
  for (const auto& [tensor, shard] : map->items()) {
    const std::string name = shard.is_string() ? shard.get<std::string>() : "";
    const bool stays = !name.empty() && name != ".." && name != "." &&
                       name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
    if (!stays) {
      throw FormatError("'{}': the shard of tensor '{}' must be a file next to the index, got {}",
                        path.string(), printable(tensor, 120), printable(shard.dump()));
    }
    shards[name].push_back(tensor);
  }
  return shards;
}

WeightFiles open_shards(const fs::path& folder) {
  WeightFiles weights;
  weights.index = folder / kIndexFile;
  const ShardMap shards = read_index(*weights.index);
  for (const auto& [name, tensors] : shards) {
    if (!path_exists(folder / name)) {
      throw IoError("'{}': the shard '{}' named by {} is missing; copy it into the folder",
                    folder.string(), printable(name, 120), kIndexFile);
    }
    if (!stays_inside(folder, folder / name)) {
      throw FormatError(
          "'{}': the shard '{}' named by {} is a link to a file outside the folder; copy the file "
          "into it",
          folder.string(), printable(name, 120), kIndexFile);
    }
  }
  for (const auto& [name, tensors] : shards) {
    const SafetensorsFile& shard = weights.files.emplace_back(folder / name);
    for (const std::string& tensor : tensors) {
      const TensorView* const found = shard.find(tensor);
      if (found == nullptr) {
        throw FormatError("'{}': must contain tensor '{}' according to {}, but does not",
                          shard.path().string(), printable(tensor, 120), kIndexFile);
      }
      weights.tensors.push_back(*found);
    }
  }
  return weights;
}

}  // namespace

bool has_weights(const fs::path& folder) {
  return path_exists(folder / kSingleFile) || path_exists(folder / kIndexFile);
}

WeightFiles open_weight_files(const fs::path& folder) {
  if (path_exists(folder / kSingleFile)) {
    WeightFiles weights;
    weights.tensors = weights.files.emplace_back(folder / kSingleFile).tensors();
    return weights;
  }
  if (path_exists(folder / kIndexFile)) return open_shards(folder);
  throw IoError("'{}': the folder contains neither {} nor {}{}", folder.string(), kSingleFile,
                kIndexFile, other_weights_hint(folder));
}

}  // namespace lime
