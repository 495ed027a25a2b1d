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

/// Definition of the entropy: the preprocessing, the default order and the unit of the result.
/// docs/numerics.md has the formula and source of each.
enum class EntropyPreset {
  kLimeCode,       ///< dimensions standardised over the dataset; alpha 0.5; nats (the LIMe code)
  kRaw,            ///< unchanged rows; alpha 0.5; nats
  kSeqVcr,         ///< unchanged rows; alpha 1; nats (Seq-VCR, eq. 2)
  kLayerByLayer,   ///< centred, unit rows, Gram matrix clamped at 0 element by element; alpha 1;
                   ///< divided by `normalization` (the Layer by Layer code)
  kMatrixEntropy,  ///< centred, unit rows; alpha 1; divided by ln(dim) (the Matrix-Entropy code)
  kDiffErank,      ///< centred, unit rows; exp of the entropy of order 1: an effective rank, whose
                   ///< difference untrained - trained is Diff-eRank
};

/// Divisor of the entropy in the preset layer-by-layer; N tokens, D dimensions.
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

/// Options of the entropy of each sequence.
struct EntropyOptions {
  EntropyPreset preset = EntropyPreset::kLimeCode;
  /// Orders, each > 0, `inf` allowed; empty: the preset's default (0.5 or 1). All share one
  /// spectrum.
  std::vector<double> alpha = {};
  /// Only for the preset layer-by-layer; its default is maxEntropy.
  EntropyNormalization normalization = EntropyNormalization::kMaxEntropy;
  /// Number of leading eigenvalues to compute, > 0, with bounds of the entropy; unset: all
  /// eigenvalues. Not for layer-by-layer, whose clamped matrix has negative eigenvalues.
  std::optional<std::int64_t> top_k = std::nullopt;

  void describe(OptionList& list);
  /// @throws InvalidArgument  naming the first field that is out of range or conflicts with
  ///         another.
  void validate() const;
  /// Returns `alpha`, or the preset's default order if it is empty.
  std::vector<double> orders() const;
};

/// Returns the preset's default order: 0.5 for lime-code and raw, 1 for the others.
double default_entropy_order(EntropyPreset preset);
/// Returns true for lime-code, which needs the statistics of the dataset.
bool needs_standardization(EntropyPreset preset);
/// Returns "nats"; "ratio" if the preset divides by a logarithm; "rank" for diff-erank.
std::string_view entropy_unit(const EntropyOptions& options);

/// Returns the maximum under `options` for a sequence of this shape, in the preset's unit: ln
/// min(tokens, dim) for presets in nats, divided by the divisor for those with one, min(tokens,
/// dim) for diff-erank.
/// @throws InvalidArgument  if the preset divides by the logarithm of 1.
double entropy_ceiling(std::int64_t num_tokens, std::int64_t dim, const EntropyOptions& options);

/// Converts an entropy in nats of a sequence of this shape to the preset's unit; increasing in
/// `nats`.
/// @throws InvalidArgument  if the preset divides by the logarithm of 1.
double in_preset_unit(double nats, std::int64_t num_tokens, std::int64_t dim,
                      const EntropyOptions& options);

}  // namespace lime
