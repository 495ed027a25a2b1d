// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

namespace lime {

class CaptureReader;

/// What the parts of a plain decoder write to its residual stream: the median over tokens of the
/// Euclidean norm, [layers]. Massive tokens do not move a median. Empty where a capture lacks the
/// site, NaN in layers that it lacks.
struct WrittenNorms {
  std::vector<double> attention;  ///< of hook_attn_out
  std::vector<double> mlp;        ///< of hook_mlp_out
  std::vector<double> both;    ///< of the difference of hidden to the layer before; NaN in layer 0
  std::vector<double> stream;  ///< of hidden: the residual stream after each layer
};

/// Measures the norms over the first rows of each layer; the median is the lower one of an even
/// number of rows.
///
/// @param num_rows  at most so many rows of each layer are read, > 0
/// @throws IoError, FormatError, Interrupted
WrittenNorms written_norms(const CaptureReader& capture, std::int64_t num_rows,
                           const std::stop_token& stop = {});

}  // namespace lime
