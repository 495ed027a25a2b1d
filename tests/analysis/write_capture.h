// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "store/capture_info.h"

namespace lime::testing {

/// A capture that fits on a page.
struct SmallCapture {
  struct Activation {
    std::string site;
    int layer = 0;
    MatrixF rows;  ///< [sum of lengths, dim]
  };
  std::vector<std::int64_t> lengths;  ///< tokens of each sequence
  std::vector<Activation> activations;
  RowKind rows = RowKind::kTokens;
  std::vector<std::string> class_names;  ///< every row is of class 0 if not empty
  std::vector<std::int16_t> class_id;    ///< of each row, where not all are of class 0
  std::string text_sha256 = {};          ///< of the text that it is made of
  Json config = Json::object();          ///< config.json of the model
  RouterWeights router = {};
  std::vector<std::int32_t> positions = {};  ///< of each row, where not 0, 1, ... per sequence
  std::string tokenizer_sha256 = {};         ///< empty: of token ids
  std::int32_t first_token = 0;  ///< rows hold the ids first_token, first_token + 1, ...
};

/// Writes `capture` to `path` as lime-capture does, statistics included.
void write_capture(const std::filesystem::path& path, const SmallCapture& capture);

/// Normal variates from `seed`, [num_rows, dim].
MatrixF random_matrix(std::int64_t num_rows, std::int64_t dim, std::uint64_t seed);

/// Sites values [.., 4] and hidden [.., 6] of two layers, sequences of 5, 8 and 3 tokens.
SmallCapture example_capture(std::uint64_t seed = 0);

}  // namespace lime::testing
