// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "explorer/models/figures.h"
#include "store/results_file.h"

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

/// What the parts of a plain decoder write to its residual stream: the median over tokens of the
/// Euclidean norm, [layers]. Massive tokens do not move a median. Empty where a capture lacks it.
struct WrittenNorms {
  std::vector<double> attention;
  std::vector<double> mlp;
  std::vector<double> both;    ///< norms of the difference to the layer before; NaN in layer 0
  std::vector<double> stream;  ///< of the residual stream after each layer
};

/// Rows of each layer of which medians are taken: first some, then more.
inline constexpr std::int64_t kFirstWrittenRows = 128;
inline constexpr std::int64_t kWrittenRows = 2048;

/// Reads at most `num_rows` rows of each layer: of hook_attn_out and hook_mlp_out, and of hidden,
/// whose differences are what attention and MLP write together.
/// @throws IoError, FormatError, Interrupted
WrittenNorms writtenNorms(const CaptureReader& capture, std::int64_t num_rows = kWrittenRows,
                          std::stop_token stop = {});

/// Draws the norms and, where a sweep over layers, attention or MLPs is open, the change in loss
/// without each part. Nothing without either.
/// @param norms  may be null
FigureOrMessage writtenFigure(const WrittenNorms* norms, std::span<const FigureSource> sweeps,
                              int layer_base);

/// Gives the curves of all parts the colour of their model; dashes distinguish them.
void colourParts(Figure& figure, std::size_t model_colour);

}  // namespace lime::explorer
