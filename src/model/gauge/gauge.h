// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/model_config.h"
#include "model/gauge/gauge_draws.h"
#include "model/gauge/gauge_weights.h"

namespace lime {

/// A change of coordinates: it changes weights, but not the function that they compute.
struct Gauge {
  std::string_view name;         ///< e.g. "value-scale"
  std::string_view description;  ///< what it changes, in half a sentence
  bool has_strength;             ///< false: a permutation, or one of a kind
  /// Returns why the change is not exact for a model, or an empty string if it is.
  std::string (*refusal)(const ModelConfig& config);
  /// Changes the weights of a model for which it is exact.
  void (*apply)(GaugeWeights& weights, GaugeDraws& draws);
};

/// Returns all of them, in the order of docs/invariance.md.
std::span<const Gauge* const> all_gauges();

/// Returns the gauge called `name`. @throws InvalidArgument  about `--transform` that lists them.
const Gauge& find_gauge(std::string_view name);

inline constexpr double kMaxGaugeStrength = 5.0;

struct GaugeRequest {
  std::string transform;  ///< name of a Gauge
  /// In (0, kMaxGaugeStrength]: factors are exp(strength * z) with z standard normal; rotations see
  /// GaugeDraws::rotation(). None: 1. Permutations have no strength.
  std::optional<double> strength = std::nullopt;
  std::uint64_t seed = 0;

  /// @throws InvalidArgument  if the name is unknown or the strength is out of range.
  void validate() const;
};

/// Changes the weights. @throws InvalidArgument  as GaugeRequest::validate(), or with the reason if
/// the change is not exact for this model.
void apply_gauge(const GaugeRequest& request, GaugeWeights& weights);

}  // namespace lime
