// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "checkpoint/weights/tensor_view.h"

namespace lime {

/// Converts whole blocks of a quantised type to float32, unaligned and little-endian.
///
/// A block of 32 weights has a scale d and, in some types, a minimum m, both float16:
///
///   Q4_0, Q5_0, Q8_0  d (q - offset)      Q4_1, Q5_1      d q + m
///   IQ4_NL            d table[q]          MXFP4           2^e table[q], without d
///
/// A block of 256 weights (Q2_K to Q6_K, IQ4_XS) has such scales for its parts of 16 or 32,
/// quantised themselves. Every product of scale and weight is exact in float32, so results are
/// those of ggml and of its Python package `gguf`, bit by bit, whether the compiler fuses products
/// and sums or not.
///
/// @param dtype  one that is_quantized().
/// @param to     storage_bytes(dtype, to.size()) == from.size().
/// Source: ggml-quants.c of github.com/ggml-org/ggml; MXFP4: OCP Microscaling Formats 1.0.
void convert_blocks(Dtype dtype, std::span<const std::byte> from, std::span<float> to);

/// Converts MXFP4 as transformers stores it: the exponents of blocks of 32 elements apart from
/// their bytes, each of which has two neighbours, the first in the low bits.
/// @param exponents  [blocks]; 2^(e - 127)
/// @param from       [16 * blocks]
/// @param to         [32 * blocks]
void convert_mxfp4(std::span<const std::byte> exponents, std::span<const std::byte> from,
                   std::span<float> to);

}  // namespace lime
