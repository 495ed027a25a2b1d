// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/entropy_options.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "metrics/entropy/matrix_entropy.h"

namespace lime {

void EntropyOptions::describe(OptionList& list) {
  list.add("preset", preset,
           "source of the entropy definition: its preprocessing, default order and unit");
  list.add("alpha", alpha,
           "entropy orders, > 0; inf: min-entropy; default: 0.5 for lime-code and raw, else 1");
  list.add("normalization", normalization, "divisor of the entropy in the preset layer-by-layer");
  list.add("top_k", top_k,
           "use only the k leading eigenvalues, > 0, and report bounds for the omitted ones");
}

void EntropyOptions::validate() const {
  for (const double order : alpha) check_entropy_order(order);
  if (preset != EntropyPreset::kLayerByLayer &&
      normalization != EntropyNormalization::kMaxEntropy) {
    throw InvalidArgument("normalization: '{}' requires the preset layer-by-layer, got '{}'",
                          enum_name(normalization), enum_name(preset));
  }
  if (!top_k) return;
  if (*top_k < 1) throw InvalidArgument("top_k: must be > 0, got {}", *top_k);
  if (preset == EntropyPreset::kLayerByLayer) {
    throw InvalidArgument(
        "top_k: has no bounds for the preset layer-by-layer, whose matrix has negative "
        "eigenvalues; omit --top-k or use another preset");
  }
}

std::vector<double> EntropyOptions::orders() const {
  return alpha.empty() ? std::vector<double>{default_entropy_order(preset)} : alpha;
}

double default_entropy_order(EntropyPreset preset) {
  return preset == EntropyPreset::kLimeCode || preset == EntropyPreset::kRaw ? 0.5 : 1.0;
}

bool needs_standardization(EntropyPreset preset) { return preset == EntropyPreset::kLimeCode; }

std::string_view entropy_unit(const EntropyOptions& options) {
  switch (options.preset) {
    case EntropyPreset::kLayerByLayer:
      return options.normalization == EntropyNormalization::kRaw ? "nats" : "ratio";
    case EntropyPreset::kMatrixEntropy:
      return "ratio";
    case EntropyPreset::kDiffErank:
      return "rank";
    default:
      return "nats";
  }
}

double entropy_ceiling(std::int64_t num_tokens, std::int64_t dim, const EntropyOptions& options) {
  return in_preset_unit(entropy_ceiling(num_tokens, dim), num_tokens, dim, options);
}

double in_preset_unit(double nats, std::int64_t num_tokens, std::int64_t dim,
                      const EntropyOptions& options) {
  if (options.preset == EntropyPreset::kDiffErank) return std::exp(nats);
  const double log_tokens = std::log(static_cast<double>(num_tokens));
  const double log_dim = std::log(static_cast<double>(dim));
  double divisor = 1.0;
  if (options.preset == EntropyPreset::kMatrixEntropy) divisor = log_dim;
  if (options.preset == EntropyPreset::kLayerByLayer) {
    switch (options.normalization) {
      case EntropyNormalization::kMaxEntropy:
        divisor = std::min(log_tokens, log_dim);
        break;
      case EntropyNormalization::kLogN:
        divisor = log_tokens;
        break;
      case EntropyNormalization::kLogD:
        divisor = log_dim;
        break;
      case EntropyNormalization::kLogNLogD:
        divisor = log_tokens * log_dim;
        break;
      case EntropyNormalization::kRaw:
        break;
    }
  }
  if (!(divisor > 0.0)) {
    throw InvalidArgument(
        "{}: divides by a logarithm and needs at least two tokens and dimensions, got {} x {}",
        enum_name(options.preset), num_tokens, dim);
  }
  return nats / divisor;
}

}  // namespace lime
