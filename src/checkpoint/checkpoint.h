// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/model_config.h"
#include "checkpoint/weights/tensor_sources.h"
#include "checkpoint/weights/tensor_view.h"
#include "core/matrix.h"

namespace lime {

struct CheckpointOptions {
  /// Accept weights that contain NaN or infinity instead of refusing them.
  bool allow_nan = false;
};

/// Reads the config.json and the weights of the checkpoint folder that find_checkpoint() finds.
///
/// open() reads config.json and the headers of the weight files, checks every name and shape
/// against the config and touches no weights, so that it is quick for a checkpoint of any size.
/// Weights are mapped; read() converts one tensor into the caller's memory and looks for NaN and
/// infinity in the same pass, so no weight is read twice and unused tensors are not read at all.
///
/// - Name prefixes `module.` and components `_orig_mod.` are dropped. `rotary_emb` buffers are
///   ignored. Any other unexpected or missing tensor is an error that names it.
/// - A `llama` config beside router or fused tensors is a LIMe: config().routing is then kLime; one
///   beside `hc_attn` tensors is kHyperConnections. The
///   fused `kv_proj_weight` (or `lime_kv_proj`), row c * kv_heads + h for dimension c (keys first)
///   of head h, is de-interleaved into k_proj and v_proj while it is read.
/// - Tied embeddings: `lm_head.weight` may be missing, or be there and equal; if it differs it is
///   used and config().tie_word_embeddings becomes false, as transformers 5 does, and warnings()
///   has a line about it. If only `lm_head.weight` is stored, it is the embedding too. (Only when
///   both are stored does open() compare their bytes.)
/// - `model.safetensors` is read if there is one, else the shards that
///   `model.safetensors.index.json` names, else `pytorch_model.bin` or its shards, as transformers
///   does. Of a pickle only tensors are read; nothing in it is executed.
/// - A base model, saved alone, lacks the prefix of its names (`model.`), which is added. Without
///   its output projection config().has_head is false, and warnings() has a line about it.
///
/// Movable, not copyable. Reading is thread-safe, except sha256().
class Checkpoint {
 public:
  /// @throws IoError      as find_checkpoint(), or if the weights or a shard are missing.
  /// @throws FormatError  if a file is broken, or the tensors are not those of the config.
  static Checkpoint open(const std::filesystem::path& folder,
                         const CheckpointOptions& options = {});

  const ModelConfig& config() const { return config_; }
  /// Returns the folder that was passed to open().
  const std::filesystem::path& path() const { return folder_; }
  const CheckpointFiles& files() const { return files_; }
  /// Returns warnings where the files are ambiguous, one line each; usually empty.
  const std::vector<std::string>& warnings() const { return sources_.warnings; }

  bool has(std::string_view name) const { return sources_.by_name.contains(name); }
  const TensorInfo& tensor(std::string_view name) const;

  /// Converts tensor `name` into `to`, row-major, of as many elements as its shape has.
  /// @throws FormatError  if it contains NaN or infinity, unless allow_nan; names the place.
  /// @throws InvalidArgument  if there is no tensor `name` or `to` has another size.
  void read(std::string_view name, std::span<float> to) const;
  void read(std::string_view name, std::span<double> to) const;

  /// Reads a tensor with two dimensions, e.g. a router. @throws as read()
  MatrixF read_matrix(std::string_view name) const;

  /// Returns the SHA-256 of the checkpoint: of the lines `HEX  FILE\n` for config.json, the index
  /// if there is one, and the weight files by name, as `sha256sum FILES | sha256sum` prints it. The
  /// first call reads all weights (about 1 GB/s); the result is cached.
  /// @throws IoError
  const std::string& sha256() const;

 private:
  Checkpoint() = default;
  const TensorSource& source(std::string_view name) const;
  template <typename T> void read_into(std::string_view name, std::span<T> to) const;

  std::filesystem::path folder_;
  CheckpointFiles files_;
  CheckpointOptions options_;
  ModelConfig config_;
  WeightFiles weights_;
  TensorSources sources_;
  mutable std::string sha256_;
};

/// Returns the ids that end generation: `eos_token_id` of generation_config.json, else of
/// config.json.
/// @throws FormatError  if generation_config.json is broken, or an id is outside the vocabulary.
std::vector<std::int64_t> stop_token_ids(const Checkpoint& checkpoint);

/// Writes a checkpoint folder that Checkpoint::open() and transformers read: config.json,
/// model.safetensors and copies of `extra_files` (tokenizer.json, ...).
///
/// Each file appears completely or not at all, config.json last: a folder with a config.json is
/// complete. Other files of an existing folder are left unchanged; a different config.json is
/// removed before the weights are replaced.
///
/// @param folder   created if it does not exist; its parent must exist.
/// @param tensors  those of parameter_specs(config), by name, in any order and weight dtype.
/// @throws InvalidArgument  if the tensors are not those of the config; nothing is written then.
/// @throws IoError          if writing fails.
void write_checkpoint(const std::filesystem::path& folder, const ModelConfig& config,
                      std::span<const TensorView> tensors,
                      const std::vector<std::filesystem::path>& extra_files = {});

}  // namespace lime
