// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lime {

/// Selects the normalisation; eps is added to the mean square or the variance.
enum class NormKind {
  kRms,         ///< weight * x / rms(x)
  kRmsPlusOne,  ///< (1 + weight) * x / rms(x), as Gemma stores it
  kLayerNorm    ///< weight * (x - mean(x)) / std(x) + bias
};

struct NormSpec {
  NormKind kind = NormKind::kRms;
  bool has_bias = false;   ///< LayerNorm only
  bool has_weight = true;  ///< false: no parameters (OPT without elementwise affine)
  double eps = 1e-6;       ///< >= 0
  /// Multiply by the weight before rounding to a 16-bit compute type (Gemma, OLMo 2), not after.
  bool rounds_after_weight = false;

  bool operator==(const NormSpec&) const = default;
};

/// Selects where the norms of attention and MLP are, f being one of the two.
enum class NormPlacement {
  kBefore,   ///< x + f(norm(x)): LLaMA, GPT-2
  kAfter,    ///< x + norm(f(x)): OLMo 2
  kBoth,     ///< x + norm(f(norm(x))): Gemma 2
  kAfterSum  ///< norm(x + f(x)): OPT 350M, post-LN
};

}  // namespace lime
