// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <span>
#include <system_error>

#include "checkpoint/gguf/gguf_files.h"
#include "checkpoint/weights/safetensors.h"
#include "checkpoint/weights/torch_file.h"
#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/json.h"
#include "core/utf8.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigFile = "config.json";
constexpr const char* kAdapterFile = "adapter_config.json";
constexpr std::string_view kCachedModel = "models--";  // of Hugging Face's cache

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// Returns the names in a folder, sorted; none if it cannot be read.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

void refuse_adapter(const fs::path& folder) {
  if (!path_exists(folder / kAdapterFile)) return;
  const bool is_beside = has_weights(folder);
  throw FormatError(
      "'{}': {}; merge the adapter (peft: model.merge_and_unload(), then save_pretrained() into "
      "another folder){}",
      folder.string(),
      is_beside ? "contains adapter_config.json, and transformers loads the adapter on top of the "
                  "weights"
                : "is a LoRA adapter without the weights of its base model",
      is_beside ? ", or remove adapter_config.json to use the weights without it" : "");
}

/// Returns the files of train.py of the released LIMe code: SAVE/config/config.json and SAVE/final.
std::optional<CheckpointFiles> released_files(const fs::path& folder) {
  const fs::path config = fs::path("config") / kConfigFile;
  if (path_exists(folder / config) && is_folder(folder / "final")) {
    return CheckpointFiles{folder / config, folder / "final"};
  }
  const fs::path save = (folder / "..").lexically_normal();
  if (!path_exists(save / config)) return std::nullopt;
  if (has_weights(folder)) return CheckpointFiles{save / config, folder};
  std::error_code ignored;
  const bool is_config = fs::equivalent(folder / kConfigFile, save / config, ignored);
  if (!is_config || !is_folder(save / "final")) return std::nullopt;
  return CheckpointFiles{save / config, save / "final"};
}

/// Returns the folders of the commits in a root of Hugging Face's cache.
std::vector<fs::path> snapshots_in(const fs::path& root) {
  std::vector<fs::path> folders;
  for (const std::string& name : names_in(root / "snapshots")) {
    if (is_folder(root / "snapshots" / name)) folders.push_back(root / "snapshots" / name);
  }
  return folders;
}

/// Returns the snapshot that a root of Hugging Face's cache means: of refs/main, else the only one.
std::optional<fs::path> snapshot_of(const fs::path& root) {
  std::string commit;
  const fs::path ref = root / "refs" / "main";
  constexpr std::uintmax_t kLongestName = 255;
  std::error_code ignored;
  if (fs::is_regular_file(ref, ignored) && fs::file_size(ref, ignored) <= kLongestName) {
    std::ifstream(ref) >> commit;
  }
  const bool is_name = !commit.empty() && commit.find('/') == std::string::npos && commit[0] != '.';
  if (is_name && is_folder(root / "snapshots" / commit)) return root / "snapshots" / commit;
  const std::vector<fs::path> snapshots = snapshots_in(root);
  if (snapshots.size() == 1) return snapshots.front();
  return std::nullopt;
}

[[noreturn]] void refuse_snapshots(const fs::path& root, const std::vector<fs::path>& snapshots) {
  constexpr std::size_t kShown = 5;
  std::string list;
  for (std::size_t i = 0; i < std::min(snapshots.size(), kShown); ++i) {
    list += fmt::format("{}'{}'", i == 0 ? "" : ", ", snapshots[i].string());
  }
  throw IoError(
      "'{}': is a Hugging Face Hub cache with {} snapshots and no refs/main; pass one of them: "
      "{}{}",
      root.string(), snapshots.size(), list, snapshots.size() > kShown ? ", ..." : "");
}

/// Returns the GGUF models in a folder by their first parts, without those of image encoders, which
/// llama.cpp names mmproj.
std::vector<fs::path> gguf_models_in(const fs::path& folder) {
  std::vector<fs::path> models;
  for (const std::string& name : names_in(folder)) {
    if (!name.ends_with(".gguf") || name.starts_with("mmproj")) continue;
    const fs::path first = first_gguf_part(folder / name);
    if (is_gguf_file(first) && (models.empty() || models.back() != first)) models.push_back(first);
  }
  return models;
}

/// Returns the checkpoint in an existing folder, or in a GGUF file, if there is one.
std::optional<CheckpointFiles> locate(const fs::path& folder) {
  if (is_gguf_file(folder)) {
    const fs::path first = first_gguf_part(folder);
    return CheckpointFiles{first, first};
  }
  if (path_exists(folder / kConfigFile) && has_weights(folder)) {
    return CheckpointFiles{folder / kConfigFile, folder};
  }
  if (const auto released = released_files(folder)) return released;
  if (path_exists(folder / kConfigFile)) return CheckpointFiles{folder / kConfigFile, folder};
  if (const auto models = gguf_models_in(folder); models.size() == 1) {
    return CheckpointFiles{models.front(), models.front()};
  }
  return std::nullopt;
}

void refuse_gguf_models(const fs::path& folder) {
  const std::vector<fs::path> models = gguf_models_in(folder);
  if (models.empty()) return;
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(models.size(), 5); ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : ", ", printable(models[i].filename().string(), 120));
  }
  throw IoError("'{}': the folder contains {} GGUF models, pass one of them: {}{}", folder.string(),
                models.size(), list, models.size() > 5 ? ", ..." : "");
}

bool has_tokenizer(const fs::path& folder) {
  const auto has = [&](const char* name) { return path_exists(folder / name); };
  return has("tokenizer.json") || has("tokenizer.model") ||
         (has("vocab.json") && has("merges.txt"));
}

/// Names of folders that say nothing of the model in them.
constexpr std::array<std::string_view, 6> kPlainNames = {"hf",   "huggingface", "final",
                                                         "best", "last",        "latest"};
/// Names of folders that contain those of many models.
constexpr std::array<std::string_view, 8> kContainers = {"models", "checkpoints", "runs", "out",
                                                         "output", "outputs",     "tmp",  "home"};

/// Returns the name of the model in its config.json, without the organisation; empty if there is
/// none that says more than the folder.
std::string name_in_config(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_regular_file(folder / kConfigFile, ignored)) return "";
  try {
    const Json config = read_json_file(folder / kConfigFile);
    const auto found = config.find("_name_or_path");
    if (found == config.end() || !found->is_string()) return "";
    const std::string name = fs::path(found->get<std::string>()).filename().string();
    return std::ranges::count(kPlainNames, name) == 0 ? name : "";
  } catch (const std::exception&) {  // a name is no reason to refuse what is unreadable
    return "";
  }
}

/// Returns the name of the folder of a model: where it says nothing, that of its parent or config.
std::string folder_label(const fs::path& folder) {
  const std::string own = folder.filename().string();
  if (std::ranges::count(kPlainNames, own) == 0) return own;
  fs::path parent = folder.parent_path();
  while (std::ranges::count(kPlainNames, parent.filename().string()) > 0) {
    parent = parent.parent_path();
  }
  const std::string above = parent.filename().string();
  if (!above.empty() && std::ranges::count(kContainers, above) == 0) return above;
  const std::string configured = name_in_config(folder);
  return configured.empty() ? own : configured;
}

}  // namespace

CheckpointFiles find_checkpoint(const fs::path& folder) {
  if (!path_exists(folder)) {
    throw IoError("'{}': the checkpoint folder does not exist{}", folder.string(),
                  hub_hint(folder));
  }
  if (is_gguf_file(folder)) return *locate(folder);
  throw_if<IoError>(!is_folder(folder), "'{}': is a file, expected a checkpoint folder or GGUF{}",
                    folder.string(),
                    folder.extension() == ".h5" ? "; give a capture after the checkpoint" : "");
  refuse_adapter(folder);
  if (const auto files = locate(folder)) return *files;
  refuse_gguf_models(folder);
  if (const auto snapshot = snapshot_of(folder)) return find_checkpoint(*snapshot);
  const std::vector<fs::path> snapshots = snapshots_in(folder);
  if (!snapshots.empty()) refuse_snapshots(folder, snapshots);
  throw IoError("'{}': the folder contains no config.json, expected a Hugging Face checkpoint{}",
                folder.string(), other_weights_hint(folder));
}

bool seems_checkpoint(const fs::path& folder) {
  return locate(folder) || path_exists(folder / kAdapterFile) || !snapshots_in(folder).empty() ||
         !other_weights_hint(folder).empty();
}

std::string checkpoint_label(const fs::path& folder, bool with_revision) {
  std::error_code ignored;
  fs::path whole = fs::weakly_canonical(folder, ignored);
  if (!whole.has_filename()) whole = whole.parent_path();
  if (is_gguf_file(whole)) return whole.stem().string();
  const bool is_snapshot = whole.parent_path().filename() == "snapshots";
  std::string name = (is_snapshot ? whole.parent_path().parent_path() : whole).filename().string();
  if (!name.starts_with(kCachedModel)) return folder_label(whole);
  name.erase(0, kCachedModel.size());
  if (const std::size_t dashes = name.find("--"); dashes != name.npos) name.replace(dashes, 2, "/");
  if (!is_snapshot || !with_revision) return name;
  return fmt::format("{}@{}", name, whole.filename().string().substr(0, 7));
}

TokenizerFiles find_tokenizer(const fs::path& folder) {
  std::optional<CheckpointFiles> files = locate(folder);
  if (const auto snapshot = snapshot_of(folder); !files && snapshot) files = locate(*snapshot);
  if (!files) return {folder, folder / kConfigFile};
  if (is_gguf_file(files->config)) return {files->config, files->config};
  const fs::path beside = files->config.parent_path();
  std::vector<fs::path> places = {folder, beside};
  if (beside != files->weights) {
    const fs::path save = (beside / "..").lexically_normal();
    places.insert(places.end(), {files->weights, save / "tokenizer", save});
  }
  const auto found = std::ranges::find_if(places, has_tokenizer);
  return {found == places.end() ? folder : *found, files->config};
}

std::string other_weights_hint(const fs::path& folder) {
  const std::vector<std::string> names = names_in(folder);
  const auto hint = [](const std::string& name, const std::string& remedy) {
    return fmt::format("; it contains {}: {}", printable(name, 120), remedy);
  };
  // A snapshot of Hugging Face's cache that was copied without the blobs.
  for (const std::string& name : names) {
    std::error_code ignored;
    const bool is_part =
        name == kConfigFile || name.ends_with(".safetensors") || name.ends_with(".bin");
    if (is_part && fs::is_symlink(folder / name, ignored) && !path_exists(folder / name)) {
      return hint(name, "it is a link to a file that does not exist; copy the blobs too");
    }
  }
  if (has_weights(folder)) return "; put the config.json of the checkpoint next to the weights";
  for (const std::string& name : names) {
    if (name.starts_with("consolidated.")) {
      return hint(
          name,
          "download config.json and model*.safetensors of the same model in Hugging Face format");
    }
    if (name.ends_with(".gguf")) {
      return hint(name, is_gguf_file(folder / name)
                            ? "it is one of several GGUF models, pass the file itself"
                            : "it is not a complete GGUF file, download it again");
    }
    if (name.starts_with(kCachedModel)) {
      return hint(name,
                  fmt::format("it is a Hugging Face Hub cache, pass the folder of a model: {}",
                              (folder / name).string()));
    }
    // Variants of transformers: model.fp16.safetensors, model.safetensors.index.fp16.json.
    const bool is_index = name.starts_with("model.safetensors.index.");
    const bool is_variant = name.starts_with("model.") && name.ends_with(".safetensors") &&
                            name.find("-of-") == std::string::npos;
    if ((is_index && name.ends_with(".json")) || is_variant) {
      return hint(name, fmt::format("rename it to {}", is_index ? "model.safetensors.index.json"
                                                                : "model.safetensors"));
    }
  }
  return "";
}

std::string hub_hint(const fs::path& path) {
  const std::string id = path.string();
  const std::size_t slash = id.find('/');
  const bool is_id = slash != std::string::npos && slash > 0 && slash + 1 < id.size() &&
                     id.find('/', slash + 1) == std::string::npos && id.front() != '.' &&
                     id.front() != '~' && path.extension() != ".json";
  if (!is_id) return "";
  return fmt::format(
      "; if it is a model on the Hugging Face Hub, download it first: hf download {} --local-dir "
      "{}",
      id, id.substr(slash + 1));
}

void refuse_lfs_pointer(std::string_view text, std::string_view path) {
  if (!text.starts_with("version https://git-lfs.github.com/spec/")) return;
  throw FormatError(
      "'{}': is a Git LFS pointer, and the file itself was not downloaded; run 'git lfs pull' in "
      "its folder",
      path);
}

namespace {

namespace fs = std::filesystem;

/// A format of weights in the files of Hugging Face: one file, or shards that an index lists.
struct WeightFormat {
  const char* file;
  const char* index;
  std::vector<TensorView> (*parse)(std::span<const std::byte> bytes, std::string_view where);
};

std::vector<TensorView> parse_safetensors(std::span<const std::byte> bytes,
                                          std::string_view where) {
  return parse_safetensors_header(bytes, where).tensors;
}

/// In the order in which transformers looks for them. The first is also that of other extensions.
constexpr WeightFormat kWeightFormats[] = {
    {"model.safetensors", "model.safetensors.index.json", parse_safetensors},
    {"pytorch_model.bin", "pytorch_model.bin.index.json", parse_torch_file},
};

const WeightFormat& format_of(const fs::path& file) {
  for (const WeightFormat& format : kWeightFormats) {
    if (file.extension() == fs::path(format.file).extension()) return format;
  }
  return kWeightFormats[0];
}

/// Returns "a, b, c or d".
std::string names_of_weight_files() {
  std::vector<std::string> names;
  for (const WeightFormat& format : kWeightFormats) {
    names.insert(names.end(), {format.file, format.index});
  }
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

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
  file.tensors = format_of(path).parse(bytes, path.string());
  return file;
}

WeightFiles open_shards(const fs::path& folder, const char* index) {
  WeightFiles weights;
  weights.index = folder / index;
  const ShardMap shards = read_index(*weights.index);
  for (const auto& [name, tensors] : shards) {
    throw_if<IoError>(!path_exists(folder / name),
                      "'{}': the shard '{}' named by {} is missing; copy it into the folder",
                      folder.string(), printable(name, 120), index);
    throw_if<FormatError>(
        !stays_inside(folder, folder / name),
        "'{}': the shard '{}' named by {} is a link to a file outside the folder; copy the file "
        "into it",
        folder.string(), printable(name, 120), index);
  }
  for (const auto& [name, tensors] : shards) {
    const WeightFile& shard = weights.files.emplace_back(open_file(folder / name));
    std::map<std::string_view, const TensorView*> views;
    for (const TensorView& view : shard.tensors) views[view.name] = &view;
    for (const std::string& tensor : tensors) {
      const auto found = views.find(tensor);
      throw_if<FormatError>(found == views.end(),
                            "'{}': must contain tensor '{}' according to {}, but does not",
                            shard.path.string(), printable(tensor, 120), index);
      weights.tensors.push_back(*found->second);
    }
  }
  return weights;
}

WeightFiles open_gguf_weights(const fs::path& path) {
  GgufFiles opened = open_gguf(path);
  WeightFiles weights;
  weights.tensors = std::move(opened.header.tensors);
  weights.is_gguf = true;
  for (std::size_t i = 0; i < opened.files.size(); ++i) {
    weights.files.push_back(
        {.path = opened.paths[i], .file = std::move(opened.files[i]), .tensors = {}});
  }
  return weights;
}

}  // namespace

bool has_weights(const fs::path& folder) {
  if (is_gguf_file(folder)) return true;
  return std::ranges::any_of(kWeightFormats, [&](const WeightFormat& format) {
    return path_exists(folder / format.file) || path_exists(folder / format.index);
  });
}

WeightFiles open_weight_files(const fs::path& folder) {
  if (is_gguf_file(folder)) return open_gguf_weights(folder);
  for (const WeightFormat& format : kWeightFormats) {
    if (path_exists(folder / format.file)) {
      WeightFiles weights;
      weights.tensors = weights.files.emplace_back(open_file(folder / format.file)).tensors;
      return weights;
    }
    if (path_exists(folder / format.index)) return open_shards(folder, format.index);
  }
  throw IoError("'{}': the folder contains no weights, expected {}{}", folder.string(),
                names_of_weight_files(), other_weights_hint(folder));
}

}  // namespace lime
