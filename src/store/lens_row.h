// SPDX-License-Identifier: Apache-2.0
// Columns of the site logit_lens (docs/capture_format.md).
#pragma once

#include <cstdint>

namespace lime {

namespace lens_column {
inline constexpr std::int64_t kKl = 0;         ///< KL(final || layer), nats
inline constexpr std::int64_t kEntropy = 1;    ///< nats
inline constexpr std::int64_t kAgreement = 2;  ///< 1 if the most probable token is the final one
inline constexpr std::int64_t kLoss = 3;       ///< of the next token, nats
inline constexpr std::int64_t kRank = 4;  ///< of the next token, from 1; 0: none, or not computed
inline constexpr std::int64_t kTokenHigh = 5;  ///< the most probable token's id / kLensIdBase
inline constexpr std::int64_t kTokenLow = 6;   ///< the same, id % kLensIdBase
}  // namespace lens_column

/// Values per token.
inline constexpr std::int64_t kLensSize = 7;
/// Both parts of an id below 2^20 are exact in float16.
inline constexpr std::int64_t kLensIdBase = 1024;

}  // namespace lime
