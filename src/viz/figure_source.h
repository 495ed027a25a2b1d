// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "store/embeddings_file.h"
#include "store/results_file.h"

namespace lime {

/// As many heads and tokens as a results file may count, beside kMostLayers: the heads are what a
/// config.json may have.
inline constexpr int kMostHeads = 65'536;
inline constexpr int kMostTokens = 16'777'216;

/// The t-SNE drawing of one layer, as it lies beside the results of metric "tsne".
struct SourceCloud {
  std::string label;
  std::string site;
  int layer = 0;
  std::vector<float> x;
  std::vector<float> y;
  std::vector<int> classes;  ///< number into class_names; all 0 if there is but one cloud
  std::vector<std::string> class_names;
};

/// A file that figures are made of.
struct FigureSource {
  std::filesystem::path path;
  Results results;
  /// Of the file; of t-SNE that of the hashes of results and embeddings, one per line.
  std::string sha256 = {};
  std::vector<SourceCloud> clouds = {};  ///< of metric "tsne"
};

/// Reads what figures are made of: a results file of lime-metrics (for t-SNE with the embeddings
/// beside it), the training_log.jsonl of lime-train, or a folder that holds one.
///
/// A training log becomes results of metric "training": rows with `kind` (train, validation),
/// `label` (the folder's name), `step`, `tokens` (targets so far), `flops` (6 N tokens, Kaplan et
/// al. 2020, arXiv:2001.08361) and `loss` (nats per token).
/// @throws IoError
/// @throws FormatError  if it is none of these; names file and line.
FigureSource read_figure_source(const std::filesystem::path& path);

/// What `path` stands for: itself, or of a folder without a training log the results files in it,
/// in the order of their names.
/// @throws IoError  if the folder holds neither; FormatError  if a .json in it cannot be read.
std::vector<std::filesystem::path> figure_files(const std::filesystem::path& path);

/// The file of embeddings that belongs to the results in `path`.
std::filesystem::path embeddings_beside(const std::filesystem::path& path);

/// @throws IoError, FormatError
Results read_training_log(const std::filesystem::path& path);

}  // namespace lime
