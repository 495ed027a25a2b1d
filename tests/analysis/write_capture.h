// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "store/capture_info.h"

namespace lime::testing {

/// Content of a small capture.
struct SmallCapture {
  struct Activation {
    std::string site;
    int layer = 0;
    MatrixF rows;  ///< [sum of lengths, dim]
  };
  std::vector<std::int64_t> lengths;  ///< tokens of each sequence
  std::size_t num_views = 0;          ///< > 0: as many sequences are views of one text
  std::vector<Activation> activations;
  RowKind rows = RowKind::kTokens;
  std::vector<std::string> class_names;  ///< if not empty, every row has class 0
  std::vector<std::int16_t> class_id;    ///< per row, if not all have class 0
  std::string text_sha256 = {};          ///< of its source text
  Json config = Json::object();          ///< config.json of the model
  RouterWeights router = {};
  std::vector<std::int32_t> positions = {};  ///< per row, if not 0, 1, ... per sequence
  std::string tokenizer_sha256 = {};         ///< empty: from token ids
  std::string checkpoint_sha256 = {};
  int num_heads = 0;                      ///< > 0: with the root mean square of each head
  std::int32_t first_token = 0;           ///< rows have the ids first_token, first_token + 1, ...
  std::vector<std::int32_t> tokens = {};  ///< ids per row, if not these
  Json extra = Json::object();            ///< see CaptureInfo
  std::string command = {};               ///< that made it
};

/// Writes `capture` to `path` in the format of lime-capture, statistics included.
void write_capture(const std::filesystem::path& path, const SmallCapture& capture);

/// Returns normal variates from `seed`, [num_rows, dim].
MatrixF random_matrix(std::int64_t num_rows, std::int64_t dim, std::uint64_t seed);

/// Returns sites values [.., 4] and hidden [.., 6] of two layers, sequences of 5, 8 and 3 tokens.
SmallCapture example_capture(std::uint64_t seed = 0);

}  // namespace lime::testing
