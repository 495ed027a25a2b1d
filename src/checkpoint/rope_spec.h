// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/options.h"

namespace lime {

/// Selects how the rotary frequencies are scaled beyond the pre-training context.
enum class RopeKind { kDefault, kLinear, kDynamic, kLlama3, kYarn, kLongRope };

constexpr auto names_of(RopeKind) {
  using enum RopeKind;
  return enum_table<RopeKind>({{kDefault, "default"},
                               {kLinear, "linear"},
                               {kDynamic, "dynamic"},
                               {kLlama3, "llama3"},
                               {kYarn, "yarn"},
                               {kLongRope, "longrope"}});
}

/// Stores a rotary embedding with the keys and the meaning of transformers. Values that depend on
/// other keys (`attention_factor`, a `factor` derived from two lengths) are resolved by the reader.
///
/// linear: every inverse frequency f becomes f / factor.
/// dynamic: beyond original_max_position_embeddings, theta grows with the length of the sequence.
/// llama3: with the wavelength w = 2 pi / f and the context c = original_max_position_embeddings,
///   f where w < c / high_freq_factor, f / factor where w > c / low_freq_factor, between them
///   (1 - s) f / factor + s f with s = (c / w - low_freq_factor) / (high_freq_factor -
///   low_freq_factor).
/// yarn: f / factor for slow dimensions, f for fast ones, a linear ramp between beta_slow and
///   beta_fast rotations per context.
/// longrope: f divided by short_factor, or by long_factor for sequences beyond
///   original_max_position_embeddings.
/// Source: modeling_rope_utils.py of transformers; rotary_frequencies() computes them.
struct RopeSpec {
  RopeKind kind = RopeKind::kDefault;
  double theta = 10000.0;         ///< > 0
  double factor = 1.0;            ///< > 0; linear, dynamic, llama3, yarn
  double attention_factor = 1.0;  ///< multiplies cosine and sine; yarn, longrope
  double low_freq_factor = 1.0;   ///< > 0; llama3, as is the following
  double high_freq_factor = 4.0;
  double beta_fast = 32.0;  ///< yarn, as are the following two
  double beta_slow = 1.0;
  bool truncate = true;                   ///< round the ends of the ramp to whole dimensions
  std::vector<double> short_factor = {};  ///< longrope: [rotary_dim / 2], as is the following
  std::vector<double> long_factor = {};
  /// Pre-training context; dynamic, llama3, yarn, longrope.
  std::int64_t original_max_position_embeddings = 0;

  bool operator==(const RopeSpec&) const = default;
};

}  // namespace lime
