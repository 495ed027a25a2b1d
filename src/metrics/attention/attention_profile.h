// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/matrix.h"

namespace lime {

/// What is measured of a query's attention, in the order of the columns of attention_profile().
inline constexpr std::array<std::string_view, 6> kAttentionMeasures = {
    "entropy", "effective_keys", "distance", "first_share", "previous_share", "own_share"};

/// Measures where the queries of one attention pattern look. Of query q, with a[k] what it gives to
/// key k <= q:
///
///   entropy         H = -sum_k a[k] ln a[k], nats. 0: one key; ln(q + 1): all alike
///   effective_keys  exp(H), the number of keys alike that would have this entropy
///   distance        sum_k a[k] (q - k), tokens back on average
///   first_share     a[0], what the first token takes; an attention sink where it is large
///   previous_share  a[q - 1], 0 for the first query, which has none before it
///   own_share       a[q]
///
/// @param pattern  a, [num_tokens, num_tokens], rows are queries, >= 0. Keys behind the query are
///                 not looked at.
/// @return [num_tokens, kAttentionMeasures.size()]
/// @throws InvalidArgument  if the pattern is not square, or a query's attention is not finite, is
///                          negative, or does not sum to 1 within 0.01, which leaves room for
///                          patterns in 16 bits.
///
/// Equal patterns give equal bits. Thread-safe: no shared state.
/// Sources: entropy Ghader & Monz (2017), arXiv:1710.03348, and Zhai et al. (2023),
/// arXiv:2303.06296; its exponential Hill (1973); distance Vig & Belinkov (2019), arXiv:1906.04284;
/// shares Clark et al. (2019), arXiv:1906.04341, and Xiao et al. (2023), arXiv:2309.17453.
MatrixD attention_profile(const ConstMatrixRef& pattern);

/// The same of attention that is spread evenly over all keys up to the query: what to compare with.
/// @param num_tokens  >= 1
MatrixD even_attention_profile(std::int64_t num_tokens);

}  // namespace lime
