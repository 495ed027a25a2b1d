// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/enum_rows.h"
#include "core/options.h"

namespace lime {

/// Published definitions of the entropy; kEntropyPresets describes each.
enum class EntropyPreset {
  kLimeCode,
  kRaw,
  kSeqVcr,
  kLayerByLayer,
  kMatrixEntropy,
  kDiffErank,
};

/// Preprocessing of the rows of a sequence.
enum class EntropyRows {
  kUnchanged,
  kStandardized,    ///< every dimension, with the statistics of the dataset
  kCentredToUnit,   ///< minus the mean of the sequence, then divided by their norms
  kCentredClamped,  ///< likewise; negative elements of the Gram matrix are set to 0
};

/// Unit in which the entropy is reported.
enum class EntropyScale {
  kNats,
  kOfLogDim,         ///< divided by ln(dim)
  kOfNormalization,  ///< divided as EntropyNormalization says
  kExponential,      ///< exp of the entropy: an effective rank
};

/// Describes a preset.
struct EntropyPresetInfo {
  EntropyPreset preset;
  std::string_view name;  ///< in options and files
  EntropyRows rows;
  double order;  ///< default alpha
  EntropyScale scale;
  std::string_view preprocessing;  ///< for notes of reports
  std::string_view source;
  bool pools_preprocessed = false;  ///< entropies of a dataset pool tokens after the preprocessing
};

/// One row per preset, in the order of EntropyPreset. docs/numerics.md has the same table.
inline constexpr auto kEntropyPresets = std::to_array<EntropyPresetInfo>({
    {EntropyPreset::kLimeCode, "lime-code", EntropyRows::kStandardized, 0.5, EntropyScale::kNats,
     "dimensions standardised over all rows of the capture",
     "corl-team/lime src/analysis/entropy.py"},
    {EntropyPreset::kRaw, "raw", EntropyRows::kUnchanged, 0.5, EntropyScale::kNats, "none",
     "Sanchez Giraldo, Rao & Principe (2015), arXiv:1211.2459"},
    {EntropyPreset::kSeqVcr, "seq-vcr", EntropyRows::kUnchanged, 1.0, EntropyScale::kNats, "none",
     "Seq-VCR, equation 2"},
    {EntropyPreset::kLayerByLayer, "layer-by-layer", EntropyRows::kCentredClamped, 1.0,
     EntropyScale::kOfNormalization, "tokens centred, unit length, negative similarities set to 0",
     "OFSkean/information_flow metric_utils.py, repitl", true},
    {EntropyPreset::kMatrixEntropy, "matrix-entropy", EntropyRows::kCentredToUnit, 1.0,
     EntropyScale::kOfLogDim, "tokens centred, unit length", "waltonfuture/Matrix-Entropy"},
    {EntropyPreset::kDiffErank, "diff-erank", EntropyRows::kCentredToUnit, 1.0,
     EntropyScale::kExponential, "tokens centred, unit length",
     "waltonfuture/Diff-eRank, which subtracts the trained model's from the untrained"},
});

constexpr const EntropyPresetInfo& preset_info(EntropyPreset preset) {
  return kEntropyPresets[static_cast<std::size_t>(preset)];
}

constexpr auto names_of(EntropyPreset) {
  return names_of_rows(kEntropyPresets, &EntropyPresetInfo::preset, &EntropyPresetInfo::name);
}

static_assert(has_row_per_enumerator(kEntropyPresets, &EntropyPresetInfo::preset,
                                     EntropyPreset::kDiffErank));

/// Returns true for the presets whose rows are standardised with the statistics of the dataset.
constexpr bool needs_standardization(EntropyPreset preset) {
  return preset_info(preset).rows == EntropyRows::kStandardized;
}

/// Returns true for the presets that set negative elements of the Gram matrix to 0. Its eigenvalues
/// may then be negative.
constexpr bool clamps_gram(EntropyPreset preset) {
  return preset_info(preset).rows == EntropyRows::kCentredClamped;
}

}  // namespace lime
