// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lime::testing {

/// A decoder of the table and its published figures.
struct PaperRow {
  const char* decoder;
  std::int64_t key_value_heads;
  double billion_parameters;
  double tera_operations;
};

/// The efficiency table of "You Do Not Fully Utilize Transformer's Representation Capacity".
inline constexpr PaperRow kEfficiencyTable[] = {
    {"llama", 8, 1.07607, 2.7615},
    {"llama", 32, 1.17674, 2.9679},
    {"lime", 8, 1.07608, 2.7638},
    {"lime", 32, 1.17687, 3.0041},
    {"denseformer", 8, 1.07607, 2.7622},
    {"denseformer", 32, 1.17674, 2.9685},
    {"hyper_connections", 8, 1.07640, 2.7701},
    {"hyper_connections", 32, 1.17706, 2.9764},
};

}  // namespace lime::testing
