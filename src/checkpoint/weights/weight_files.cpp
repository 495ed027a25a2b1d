// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/weights/weight_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/weights/safetensors_header.h"
#include "checkpoint/weights/torch_file.h"
#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/json.h"
#include "core/utf8.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// In the order in which transformers looks for them; an index ends in .json.
constexpr std::array<const char*, 4> kNames = {"model.safetensors", "model.safetensors.index.json",
                                               "pytorch_model.bin", "pytorch_model.bin.index.json"};

/// Returns true if the target of `file`, a symbolic link, is in `folder`. Hugging Face's cache
/// links the files of `REPO/snapshots/REVISION` to `REPO/blobs`, which counts as inside.
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
  throw_if<FormatError>(map == json.end() || !map->is_object() || map->empty(),
                        "'{}': must have an object 'weight_map' that maps tensors to shards",
                        path.string());
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

WeightFile open_file(const fs::path& path) {
  WeightFile file = {.path = path, .file = MappedFile(path), .tensors = {}};
  const auto bytes = file.file.bytes();
  file.tensors = path.extension() == ".bin"
                     ? parse_torch_file(bytes, path.string())
                     : parse_safetensors_header(bytes, path.string()).tensors;
  return file;
}

WeightFiles open_shards(const fs::path& folder, const char* index) {
  WeightFiles weights;
  weights.index = folder / index;
  const ShardMap shards = read_index(*weights.index);
  for (const auto& [name, tensors] : shards) {
    if (!path_exists(folder / name)) {
      throw IoError("'{}': the shard '{}' named by {} is missing; copy it into the folder",
                    folder.string(), printable(name, 120), index);
    }
    if (!stays_inside(folder, folder / name)) {
      throw FormatError(
          "'{}': the shard '{}' named by {} is a link to a file outside the folder; copy the file "
          "into it",
          folder.string(), printable(name, 120), index);
    }
  }
  for (const auto& [name, tensors] : shards) {
    const WeightFile& shard = weights.files.emplace_back(open_file(folder / name));
    std::map<std::string_view, const TensorView*> views;
    for (const TensorView& view : shard.tensors) views[view.name] = &view;
    for (const std::string& tensor : tensors) {
      const auto found = views.find(tensor);
      if (found == views.end()) {
        throw FormatError("'{}': must contain tensor '{}' according to {}, but does not",
                          shard.path.string(), printable(tensor, 120), index);
      }
      weights.tensors.push_back(*found->second);
    }
  }
  return weights;
}

}  // namespace

bool has_weights(const fs::path& folder) {
  return std::ranges::any_of(kNames, [&](const char* name) { return path_exists(folder / name); });
}

WeightFiles open_weight_files(const fs::path& folder) {
  for (const char* const name : kNames) {
    if (!path_exists(folder / name)) continue;
    if (fs::path(name).extension() == ".json") return open_shards(folder, name);
    WeightFiles weights;
    weights.tensors = weights.files.emplace_back(open_file(folder / name)).tensors;
    return weights;
  }
  throw IoError("'{}': the folder contains no weights, expected {}, {}, {} or {}{}",
                folder.string(), kNames[0], kNames[1], kNames[2], kNames[3],
                other_weights_hint(folder));
}

}  // namespace lime
