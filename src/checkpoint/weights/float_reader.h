// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "checkpoint/weights/tensor_view.h"

namespace lime {

/// Converts unaligned, little-endian elements to `to`, checking for NaN and infinity.
/// @return index of the first element that is not finite, or nothing.
std::optional<std::size_t> convert_weights(Dtype dtype, std::span<const std::byte> from,
                                           std::span<float> to);
std::optional<std::size_t> convert_weights(Dtype dtype, std::span<const std::byte> from,
                                           std::span<double> to);

}  // namespace lime
