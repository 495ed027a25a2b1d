// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/collapse/layer_causes.h"

namespace lime {

enum class CollapseCause {
  kMassiveTokens,        ///< a few tokens carry the trace
  kOutlierDimensions,    ///< a few dimensions carry the trace of the others
  kCommonDirection,      ///< the mean vector carries the trace of what remains
  kRankCollapse,         ///< tokens of a sequence are equal
  kDimensionalCollapse,  ///< few directions remain, whatever the number of tokens
  kRepetition,           ///< the tokens alone would give rank or dimensional collapse
};

constexpr auto names_of(CollapseCause) {
  using enum CollapseCause;
  return enum_table<CollapseCause>({{kMassiveTokens, "massive tokens"},
                                    {kOutlierDimensions, "outlier dimensions"},
                                    {kCommonDirection, "common direction"},
                                    {kRankCollapse, "rank collapse"},
                                    {kDimensionalCollapse, "dimensional collapse"},
                                    {kRepetition, "repetition"}});
}

/// A cause that is present, or undecided because its interval includes the threshold.
struct CollapseFinding {
  CollapseCause cause = CollapseCause::kMassiveTokens;
  bool is_certain = true;

  bool operator==(const CollapseFinding&) const = default;
};

/// Massive tokens of a layer in a few numbers.
struct MassiveSummary {
  std::int64_t count = 0;
  std::int32_t token = -1;       ///< most frequent id; -1: unknown
  std::int64_t token_count = 0;  ///< massive tokens with this id
  std::int32_t position = -1;    ///< most frequent position
  std::int64_t position_count = 0;
  int dimension = -1;  ///< most frequent dimension of the largest magnitude
  std::int64_t dimension_count = 0;
  double largest = 0.0;  ///< largest magnitude in that dimension
};

/// @param tokens, positions  of each row of the layer; empty: unknown
MassiveSummary summarize_massive(std::span<const MassiveToken> massive,
                                 std::span<const std::int32_t> tokens,
                                 std::span<const std::int32_t> positions);

/// Returns the causes that are present in a layer, in the order of CollapseCause; empty: none.
///
///   massive tokens        share of the trace > share: as is, centred, or without the dimensions;
///                         or a participation ratio that is more than twice as large without them
///   outlier dimensions    share of the trace, or of the variance, of the others > share
///   common direction      share of the trace of the rest > share
///   rank collapse         intraclass correlation of the rest > share, or all tokens equal to 1 %
///   dimensional collapse  effective rank of the rest < rank_share times its maximum
///   repetition            in place of the last two, if random vectors per token give as much
std::vector<CollapseFinding> findings_of(const LayerCauses& causes, const CollapseOptions& options);

/// "massive tokens, outlier dimensions (undecided)"; "none".
std::string findings_text(std::span<const CollapseFinding> findings);

/// A layer as sentences describe it.
struct LayerFacts {
  int layer = 0;
  LayerCauses causes;  ///< `massive` may be empty
  MassiveSummary massive;
  std::vector<CollapseFinding> findings;
};

/// Consecutive layers with the same findings.
struct FindingRange {
  std::size_t first = 0;  ///< index
  std::size_t last = 0;
};
std::vector<FindingRange> ranges_of(std::span<const LayerFacts> layers);

/// Returns the share that decides whether massive tokens are present: the largest of the three.
const Estimate& deciding_massive_share(const LayerCauses& causes);
const Estimate& deciding_dimension_share(const LayerCauses& causes);

}  // namespace lime
