// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "core/matrix.h"

// How a token's residual streams (Hyper-Connections) differ in energy, and how they are mixed. No
// function has shared state, so all are thread-safe.

namespace lime {

/// Measures of a token's streams, in the order of stream_measures().
inline constexpr std::array<std::string_view, 3> kStreamMeasures = {"effective_streams",
                                                                    "dominance", "stream_cosine"};

/// Returns the fraction of the squared norm of each stream, a_i = |h_i|^2 / sum_j |h_j|^2.
/// @param streams  [num_streams, dim]. @return equal fractions if all are 0
VectorD stream_energies(const ConstMatrixRef& streams);

/// Measures a token's streams:
///
///   effective_streams  exp(-sum a_i ln a_i), from 1 (one stream has all energy) to num_streams
///   dominance          max a_i, from 1 / num_streams to 1
///   stream_cosine      mean cosine of two streams; 1 if all have one direction. NaN with one
///                      stream or if fewer than two are not 0
///
/// The question of dominance is that of Alimaskina et al. (2026), arXiv:2606.03483; the effective
/// number is that of Hill (1973), order 1.
VectorD stream_measures(const ConstMatrixRef& streams);

/// Measures of the weights of one part of a layer, in the order of mixing_measures().
inline constexpr std::array<std::string_view, 4> kMixingMeasures = {
    "identity_distance", "uniform_distance", "effective_read", "effective_written"};

/// Measures with which weights a part reads n streams, writes to them, and mixes them into new
/// ones:
///
///   identity_distance  |C - I|_F / sqrt(n - 1): 0 if streams are kept apart, 1 if C is uniform
///   uniform_distance   |C - 1/n|_F / sqrt(n - 1): 0 if all new streams are equal, 1 if C = I
///   effective_read     exp of the entropy of |pre_i| / sum |pre|: number of streams that are read
///   effective_written  the same of |post_i|
///
/// sqrt(n - 1) is the distance of the identity from the uniform matrix. NaN with one stream, or
/// without weights.
/// @param weights  [n, n + 2]: of each stream i pre_i, post_i and C[i, j], the weight of stream j
/// in
///                 the new stream i
VectorD mixing_measures(const ConstMatrixRef& weights);

}  // namespace lime
