// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/enum_rows.h"

namespace lime {

/// The elementwise function of an MLP.
enum class Activation { kSilu, kGelu, kGeluTanh, kRelu, kReluSquared };

/// What is known of an activation besides its function, which activate() computes.
struct ActivationSpec {
  Activation activation;
  std::string_view name;  ///< in options
  /// In config.json: the names of transformers' ACT2FN.
  std::array<std::string_view, 6> config_names;
  bool is_smooth;     ///< has a derivative everywhere
  int degree;         ///< n if f(a x) = a^n f(x) for all a > 0; 0 if there is none
  double operations;  ///< multiply-accumulates per value that `lime-metrics cost` counts
};

inline constexpr auto kActivations = std::to_array<ActivationSpec>({
    {Activation::kSilu, "silu", {"silu", "swish"}, true, 0, 1.0},
    {Activation::kGelu, "gelu", {"gelu", "gelu_python"}, true, 0, 1.0},
    {Activation::kGeluTanh,
     "gelu_pytorch_tanh",
     {"gelu_pytorch_tanh", "gelu_new", "gelu_python_tanh", "gelu_accurate", "gelu_fast"},
     true,
     0,
     1.0},
    {Activation::kRelu, "relu", {"relu"}, false, 1, 1.0},
    {Activation::kReluSquared, "relu2", {"relu2", "relu_squared"}, false, 2, 3.0},
});

static_assert(has_row_per_enumerator(kActivations, &ActivationSpec::activation,
                                     Activation::kReluSquared));

constexpr const ActivationSpec& activation_spec(Activation activation) {
  return kActivations[static_cast<std::size_t>(activation)];
}

constexpr auto names_of(Activation) {
  return names_of_rows(kActivations, &ActivationSpec::activation, &ActivationSpec::name);
}

}  // namespace lime
