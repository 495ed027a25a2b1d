// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.h"

namespace lime {

/// Whose entropy is computed: the preprocessing, the default order and the unit of the result.
/// docs/numerics.md has the formula and the source of each.
enum class EntropyPreset {
  kLimeCode,       ///< dimensions standardised over the data set; alpha 0.5; nats (the LIMe code)
  kRaw,            ///< rows as they are; alpha 0.5; nats
  kSeqVcr,         ///< rows as they are; alpha 1; nats (Seq-VCR, eq. 2)
  kLayerByLayer,   ///< centred, unit rows, Gram matrix clamped at 0 element by element; alpha 1;
                   ///< divided by `normalization` (the Layer by Layer code)
  kMatrixEntropy,  ///< centred, unit rows; alpha 1; divided by ln(dim) (the Matrix-Entropy code)
  kDiffErank,      ///< centred, unit rows; exp of the entropy of order 1: an effective rank, whose
                   ///< difference untrained - trained is Diff-eRank
};

/// What the preset layer-by-layer divides the entropy by; N tokens, D dimensions.
enum class EntropyNormalization {
  kMaxEntropy,  ///< min(ln N, ln D)
  kLogN,
  kLogD,
  kLogNLogD,  ///< ln N * ln D
  kRaw,       ///< 1
};

template <>
struct EnumNames<EntropyPreset> {
  static constexpr std::array<std::pair<EntropyPreset, std::string_view>, 6> kNames = {{
      {EntropyPreset::kLimeCode, "lime-code"},
      {EntropyPreset::kRaw, "raw"},
      {EntropyPreset::kSeqVcr, "seq-vcr"},
      {EntropyPreset::kLayerByLayer, "layer-by-layer"},
      {EntropyPreset::kMatrixEntropy, "matrix-entropy"},
      {EntropyPreset::kDiffErank, "diff-erank"},
  }};
};

template <>
struct EnumNames<EntropyNormalization> {
  static constexpr std::array<std::pair<EntropyNormalization, std::string_view>, 5> kNames = {{
      {EntropyNormalization::kMaxEntropy, "maxEntropy"},
      {EntropyNormalization::kLogN, "logN"},
      {EntropyNormalization::kLogD, "logD"},
      {EntropyNormalization::kLogNLogD, "logNlogD"},
      {EntropyNormalization::kRaw, "raw"},
  }};
};

/// What entropy to compute of each sequence.
struct EntropyOptions {
  EntropyPreset preset = EntropyPreset::kLimeCode;
  /// Orders, each > 0, `inf` allowed; empty stands for the preset's own (0.5 or 1). One spectrum
  /// serves them all.
  std::vector<double> alpha = {};
  /// Only for the preset layer-by-layer; its own default is maxEntropy.
  EntropyNormalization normalization = EntropyNormalization::kMaxEntropy;
  /// Only this many leading eigenvalues, > 0, and from them bounds of the entropy; unset: all
  /// eigenvalues. Not for layer-by-layer, whose clamped matrix has negative eigenvalues.
  std::optional<std::int64_t> top_k = std::nullopt;

  void describe(OptionList& list);
  /// @throws InvalidArgument  that names the first field out of range or at odds with another.
  void validate() const;
  /// `alpha`, or the preset's own order where none is given.
  std::vector<double> orders() const;
};

/// The preset's own order: 0.5 for lime-code and raw, 1 for the others.
double default_entropy_order(EntropyPreset preset);
/// True for lime-code, which needs the data set's statistics.
bool needs_standardization(EntropyPreset preset);
/// "nats"; "ratio" where the preset divides by a logarithm; "rank" for diff-erank.
std::string_view entropy_unit(const EntropyOptions& options);

/// The largest value that `options` allow for a sequence of this shape, in the preset's own unit:
/// ln min(tokens, dim) for those in nats, that over the divisor for those that divide,
/// min(tokens, dim) for diff-erank.
/// @throws InvalidArgument  if the preset divides by the logarithm of 1.
double entropy_ceiling(std::int64_t num_tokens, std::int64_t dim, const EntropyOptions& options);

/// An entropy in nats of a sequence of this shape in the preset's unit; increasing in `nats`.
/// @throws InvalidArgument  if the preset divides by the logarithm of 1.
double in_preset_unit(double nats, std::int64_t num_tokens, std::int64_t dim,
                      const EntropyOptions& options);

}  // namespace lime
