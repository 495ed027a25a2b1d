// SPDX-License-Identifier: Apache-2.0
#include "metrics/collapse/collapse_verdict.h"

#include <cmath>
#include <map>

namespace lime {
namespace {

/// Tokens count as equal if their mean carries all but this fraction of the trace: they differ from
/// it by 1 % of their norm, above the rounding errors of bfloat16 (0.2 %).
constexpr double kEqualShare = 1e-4;

/// A low effective rank is explained by the tokens if it is at least this fraction of theirs.
constexpr double kExplained = 0.5;

/// Massive tokens are present if the participation ratio without them is larger by this factor:
/// then they carry more than half of the sum of squared eigenvalues.
constexpr double kGain = 2.0;

constexpr const char* kUndecided = " (undecided)";

void add(Side side, CollapseCause cause, std::vector<CollapseFinding>& findings) {
  if (side != Side::kBelow) findings.push_back({cause, side == Side::kAbove});
}

/// Returns the most frequent key and its count; the smallest of several.
template <typename Key, typename Of>
std::pair<Key, std::int64_t> most_frequent(std::span<const MassiveToken> massive,
                                           const Of& subject) {
  std::map<Key, std::int64_t> counts;
  for (const MassiveToken& token : massive) ++counts[subject(token)];
  std::pair<Key, std::int64_t> best{-1, 0};
  for (const auto& [key, count] : counts) {
    if (count > best.second) best = {key, count};
  }
  return best;
}

Side rank_collapse(const LayerCauses& causes, const CollapseOptions& options) {
  if (causes.common_share.value > 1.0 - kEqualShare) return Side::kAbove;
  return side_of(causes.intraclass, options.share);
}

/// kAbove: the effective rank is low.
Side dimensional_collapse(const LayerCauses& causes, const CollapseOptions& options) {
  if (!std::isfinite(causes.effective_rank.value) || causes.rank_ceiling < 2.0) return Side::kBelow;
  const double threshold = options.rank_share * causes.rank_ceiling;
  const Side side = side_of(causes.effective_rank, threshold);
  if (side == Side::kUndecided) return side;
  return side == Side::kAbove ? Side::kBelow : Side::kAbove;
}

}  // namespace

MassiveSummary summarize_massive(std::span<const MassiveToken> massive,
                                 std::span<const std::int32_t> tokens,
                                 std::span<const std::int32_t> positions) {
  MassiveSummary summary;
  summary.count = std::ssize(massive);
  const auto at = [](std::span<const std::int32_t> column) {
    return [column](const MassiveToken& token) {
      return column.empty() ? -1 : column[static_cast<std::size_t>(token.row)];
    };
  };
  std::tie(summary.token, summary.token_count) = most_frequent<std::int32_t>(massive, at(tokens));
  std::tie(summary.position, summary.position_count) =
      most_frequent<std::int32_t>(massive, at(positions));
  std::tie(summary.dimension, summary.dimension_count) =
      most_frequent<int>(massive, [](const MassiveToken& token) { return token.dimension; });
  for (const MassiveToken& token : massive) {
    if (token.dimension != summary.dimension) continue;
    summary.largest = std::max(summary.largest, std::abs(token.value));
  }
  return summary;
}

const Estimate& deciding_massive_share(const LayerCauses& causes) {
  const Estimate* best = &causes.massive_share;
  for (const Estimate* share : {&causes.massive_share_centred, &causes.massive_share_rest}) {
    if (share->value > best->value || std::isnan(best->value)) best = share;
  }
  return *best;
}

const Estimate& deciding_dimension_share(const LayerCauses& causes) {
  const bool is_centred = causes.dimension_share_centred.value > causes.dimension_share.value;
  return is_centred ? causes.dimension_share_centred : causes.dimension_share;
}

std::vector<CollapseFinding> findings_of(const LayerCauses& causes,
                                         const CollapseOptions& options) {
  std::vector<CollapseFinding> findings;
  add(std::max(side_of(deciding_massive_share(causes), options.share),
               side_of(causes.participation_gain, kGain)),
      CollapseCause::kMassiveTokens, findings);
  add(side_of(deciding_dimension_share(causes), options.share), CollapseCause::kOutlierDimensions,
      findings);
  add(side_of(causes.common_share, options.share), CollapseCause::kCommonDirection, findings);
  Side equal = rank_collapse(causes, options);
  Side few = dimensional_collapse(causes, options);
  Side repeated = Side::kBelow;
  if (causes.control) {
    if (equal != Side::kBelow && causes.control->intraclass > options.share) {
      repeated = equal;
      equal = Side::kBelow;
    }
    const double explained = kExplained * causes.control->effective_rank;
    if (few != Side::kBelow && explained < options.rank_share * causes.rank_ceiling &&
        causes.effective_rank.value >= explained) {
      repeated = std::max(repeated, few);
      few = Side::kBelow;
    }
  }
  add(equal, CollapseCause::kRankCollapse, findings);
  add(few, CollapseCause::kDimensionalCollapse, findings);
  add(repeated, CollapseCause::kRepetition, findings);
  return findings;
}

std::string findings_text(std::span<const CollapseFinding> findings) {
  if (findings.empty()) return "none";
  std::string text;
  for (const CollapseFinding& finding : findings) {
    if (!text.empty()) text += ", ";
    text += enum_name(finding.cause);
    if (!finding.is_certain) text += kUndecided;
  }
  return text;
}

std::vector<FindingRange> ranges_of(std::span<const LayerFacts> layers) {
  std::vector<FindingRange> ranges;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool goes_on = i > 0 && layers[i].findings == layers[i - 1].findings &&
                         layers[i].layer == layers[i - 1].layer + 1;
    if (goes_on) {
      ranges.back().last = i;
    } else {
      ranges.push_back({i, i});
    }
  }
  return ranges;
}

}  // namespace lime
