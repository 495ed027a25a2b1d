// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "store/embeddings_file.h"
#include "store/results_file.h"

namespace lime {

/// Maximum numbers of heads and tokens in a results file; the heads as in config.json.
inline constexpr int kMaxHeads = 65'536;
inline constexpr int kMaxTokens = 16'777'216;

/// The t-SNE embedding of one layer, stored next to the results of metric "tsne".
struct SourceEmbedding {
  std::string label;
  std::string site;
  int layer = 0;
  std::vector<float> x;
  std::vector<float> y;
  std::vector<int> classes;  ///< index into class_names; all 0 with a single class
  std::vector<std::string> class_names;
};

struct FigureSource {
  std::filesystem::path path;
  Results results;
  /// SHA-256 of the file; for t-SNE, of the hashes of results and embeddings, one per line.
  std::string sha256 = {};
  std::vector<SourceEmbedding> embeddings = {};  ///< of metric "tsne"
};

using FigureSources = std::span<const FigureSource>;

/// Reads the input of figures: a results file of lime-metrics (for t-SNE with the embeddings next
/// to it), the training_log.jsonl of lime-train, or a folder that contains one.
///
/// A training log becomes results of metric "training": rows with `kind` (train, validation),
/// `label` (the folder's name), `step`, `tokens` (targets so far), `flops` (6 N tokens, Kaplan et
/// al. 2020, arXiv:2001.08361) and `loss` (nats per token), and rows of `kind` evaluation with
/// `operands`, the accuracy in `mean`, and its Wilson interval in `ci_low` and `ci_high`.
/// @throws IoError
/// @throws FormatError  if it is none of these; names file and line.
FigureSource read_figure_source(const std::filesystem::path& path);

/// Returns `path` or, for a folder without a training log, the results files in it, sorted.
/// @throws IoError  if the folder contains neither; FormatError  if a .json in it cannot be read.
std::vector<std::filesystem::path> figure_files(const std::filesystem::path& path);

/// Returns the path of the embeddings that belong to the results in `path`.
std::filesystem::path embeddings_beside(const std::filesystem::path& path);

/// Number of operands of the expressions of an evaluation, in the rows of a training log.
inline constexpr NumberColumn kOperands{"operands", "operands of an arithmetic expression"};

Results read_training_log(const std::filesystem::path& path);

}  // namespace lime
