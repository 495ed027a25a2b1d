// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model_config.h"
#include "checkpoint/safetensors.h"
#include "core/matrix.h"

namespace lime {

struct CheckpointOptions {
  /// Read weights that hold NaN or infinity as they are instead of refusing them.
  bool allow_nan = false;
};

/// How the tensors lie in the files; the names and shapes that this class shows do not depend on
/// it.
enum class WeightLayout {
  kHuggingFace,   ///< separate k_proj and v_proj, as transformers and we write
  kLimeOfficial,  ///< fused, interleaved kv_proj_weight of the paper's released code
};

template <>
struct EnumNames<WeightLayout> {
  static constexpr std::array<std::pair<WeightLayout, std::string_view>, 2> kNames = {{
      {WeightLayout::kHuggingFace, "huggingface"},
      {WeightLayout::kLimeOfficial, "lime-official"},
  }};
};

/// What is known of a tensor without reading it.
struct TensorInfo {
  std::string name;         ///< canonical, as in parameter_specs()
  std::string stored_name;  ///< in the file, with prefixes; the fused tensor for its keys or values
  Dtype dtype = Dtype::kF32;
  Shape shape;
};

/// A checkpoint folder: config.json and the weights under their Hugging Face names.
///
/// open() reads config.json and the headers of the weight files, checks every name and shape
/// against the config and touches no weights, so that it is quick for a checkpoint of any size.
/// Weights are mapped; read() converts one tensor into the caller's memory and looks for NaN and
/// infinity in the same pass, so that no weight is read twice and a tensor nobody asks for is not
/// read at all.
///
/// - Name prefixes `module.` and components `_orig_mod.` are dropped. `rotary_emb` buffers are
///   ignored. Any other unexpected or missing tensor is an error that names it.
/// - A `llama` config beside router or fused tensors is a LIMe: config().decoder is then kLime. The
///   fused `kv_proj_weight` (or `lime_kv_proj`), row c * kv_heads + h for dimension c (keys first)
///   of head h, is de-interleaved into k_proj and v_proj while it is read.
/// - Tied embeddings: `lm_head.weight` may be missing, or be there and equal; if it differs it is
///   used and config().tie_word_embeddings becomes false, as transformers 5 does. If only
///   `lm_head.weight` is stored, it is the embedding too. (Only when both are stored does open()
///   compare their bytes.)
/// - `model.safetensors` is read if there is one, else the shards that
///   `model.safetensors.index.json` names, as transformers does.
///
/// Movable, not copyable. Reading is thread-safe, except sha256().
class Checkpoint {
 public:
  /// @throws IoError      if the folder, config.json, the weights or a shard is missing.
  /// @throws FormatError  if a file is broken, or the tensors are not those of the config.
  static Checkpoint open(const std::filesystem::path& folder,
                         const CheckpointOptions& options = {});

  const ModelConfig& config() const { return config_; }
  const std::filesystem::path& path() const { return folder_; }
  WeightLayout weight_layout() const { return layout_; }

  /// Canonical names in the order of parameter_specs().
  const std::vector<std::string>& tensor_names() const { return names_; }
  bool has(std::string_view name) const { return sources_.contains(name); }
  /// @throws InvalidArgument  if there is no tensor `name`.
  const TensorInfo& tensor(std::string_view name) const;

  /// Converts tensor `name` into `to`, row-major, of as many elements as its shape has.
  /// @throws FormatError      if it holds NaN or infinity (also a double too large for float),
  ///                          unless allow_nan; names the tensor and the place.
  /// @throws InvalidArgument  if there is no tensor `name` or `to` has another size.
  void read(std::string_view name, std::span<float> to) const;
  void read(std::string_view name, std::span<double> to) const;

  /// The same for a tensor with two dimensions, e.g. a router. @throws as read()
  MatrixF read_matrix(std::string_view name) const;

  /// SHA-256 that names the checkpoint: of the lines `HEX  FILE\n` for config.json, the index if
  /// there is one, and the weight files by name; `sha256sum FILES | sha256sum` prints the same.
  /// Reads all weights at the first call (about 1 GB/s) and remembers the result.
  /// @throws IoError
  const std::string& sha256() const;

 private:
  /// Where a tensor lies.
  struct Source {
    TensorInfo info;
    std::span<const std::byte> bytes;
    /// Number of interleaved heads: element row h * (rows / heads) + c of the tensor is row
    /// c * heads + h of `bytes`. 1 for a tensor stored as it is shown.
    std::int64_t interleaved_heads = 1;
  };
  friend class CheckpointReader;

  Checkpoint() = default;
  const Source& source(std::string_view name) const;

  std::filesystem::path folder_;
  CheckpointOptions options_;
  ModelConfig config_;
  WeightLayout layout_ = WeightLayout::kHuggingFace;
  std::vector<SafetensorsFile> files_;
  std::vector<std::filesystem::path> hashed_files_;
  std::vector<std::string> names_;
  std::map<std::string, Source, std::less<>> sources_;
  mutable std::string sha256_;
};

}  // namespace lime
