// SPDX-License-Identifier: Apache-2.0
#include "metrics/collapse/collapse_sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace lime {
namespace {

/// Fewer sequences make bootstrap intervals too narrow.
constexpr std::int64_t kFewSequences = 20;

using Range = std::span<const LayerFacts>;

std::string percent(double share) {
  const double value = 100.0 * share;
  const bool is_near_one = value > 99.0 && value < 100.0;
  return fmt::format("{:.{}f}", value, is_near_one || value < 1.0 ? 1 : 0);
}

std::string decimal(double value) {
  if (!std::isfinite(value)) return "undefined";
  const double size = std::abs(value);
  return fmt::format("{:.{}f}", value, size >= 20.0 ? 0 : size >= 1.0 ? 1 : 2);
}

/// Returns "0.7 to 0.9", or one number if both look the same.
template <typename Of, typename Text>
std::string span_text(Range range, const Of& subject, const Text& text) {
  double low = subject(range.front());
  double high = low;
  for (const LayerFacts& layer : range) {
    const double value = subject(layer);
    if (!std::isfinite(value)) continue;
    low = std::isfinite(low) ? std::min(low, value) : value;
    high = std::isfinite(high) ? std::max(high, value) : value;
  }
  const std::string first = text(low);
  const std::string last = text(high);
  return first == last ? first : fmt::format("{} to {}", first, last);
}

bool all_above(Range range, const Estimate LayerCauses::*share, double threshold) {
  return std::ranges::all_of(
      range, [&](const LayerFacts& layer) { return (layer.causes.*share).value > threshold; });
}

std::string counted(std::int64_t count, std::int64_t all, const char* name) {
  return count == all ? fmt::format("all {}", name) : fmt::format("{} of them {}", count, name);
}

/// Returns the layer with the largest massive share, which stands for the range.
const LayerFacts& strongest(Range range) {
  return *std::ranges::max_element(range, {}, [](const LayerFacts& layer) {
    return deciding_massive_share(layer.causes).value;
  });
}

std::string massive_details(Range range, const TokenText& token_text) {
  const LayerFacts& layer = strongest(range);
  const MassiveSummary& massive = layer.massive;
  std::string details =
      fmt::format("{} of {} tokens",
                  span_text(
                      range, [](const LayerFacts& l) { return double(l.massive.count); },
                      [](double v) { return fmt::format("{:.0f}", v); }),
                  layer.causes.rows);
  if (2 * massive.position_count > massive.count && massive.position >= 0) {
    details += ", " + counted(massive.position_count, massive.count,
                              fmt::format("at position {}", massive.position).c_str());
  }
  if (2 * massive.token_count > massive.count && massive.token >= 0) {
    const std::string text = token_text ? token_text(massive.token) : "";
    const std::string name = text.empty() ? fmt::format("token {}", massive.token)
                                          : fmt::format("token {} '{}'", massive.token, text);
    details += ", " + counted(massive.token_count, massive.count, name.c_str());
  }
  details +=
      fmt::format(", up to {} times the median norm, mostly in dimension {}",
                  span_text(
                      range, [](const LayerFacts& l) { return l.causes.largest_ratio; }, decimal),
                  massive.dimension);
  return details;
}

std::string massive_text(Range range, const CollapseOptions& options, const TokenText& token_text) {
  const auto share_text = [&](const Estimate LayerCauses::*share) {
    return span_text(
        range, [&](const LayerFacts& l) { return (l.causes.*share).value; }, percent);
  };
  std::string text = fmt::format("massive tokens carry {} % of the trace",
                                 share_text(&LayerCauses::massive_share));
  if (!all_above(range, &LayerCauses::massive_share, options.share)) {
    text += fmt::format(", {} % after subtracting the mean",
                        share_text(&LayerCauses::massive_share_centred));
    if (!all_above(range, &LayerCauses::massive_share_centred, options.share)) {
      text += fmt::format(", {} % without outlier dimensions",
                          share_text(&LayerCauses::massive_share_rest));
    }
  }
  text += fmt::format(
      "; without massive tokens the participation ratio is {} times as large",
      span_text(
          range, [](const LayerFacts& l) { return l.causes.participation_gain.value; }, decimal));
  return fmt::format("{} ({})", text, massive_details(range, token_text));
}

std::string dimension_text(Range range, bool after_tokens, const CollapseOptions& options) {
  std::vector<int> all;
  for (const LayerFacts& layer : range) {
    for (const int dimension : layer.causes.dimensions) {
      if (std::ranges::find(all, dimension) == all.end()) all.push_back(dimension);
    }
  }
  constexpr std::size_t kMaxNamed = 8;
  std::ranges::stable_sort(all, std::ranges::greater(), [&](int dimension) {
    return std::ranges::count_if(range, [&](const LayerFacts& layer) {
      return std::ranges::find(layer.causes.dimensions, dimension) != layer.causes.dimensions.end();
    });
  });
  const bool is_cut = all.size() > kMaxNamed;
  if (is_cut) all.resize(kMaxNamed);
  const bool is_raw =
      all_above(range, &LayerCauses::dimension_share, options.share) ||
      std::ranges::all_of(range, [](const LayerFacts& layer) {
        return layer.causes.dimension_share.value >= layer.causes.dimension_share_centred.value;
      });
  const auto share = is_raw ? &LayerCauses::dimension_share : &LayerCauses::dimension_share_centred;
  const std::string count = span_text(
      range, [](const LayerFacts& l) { return double(std::ssize(l.causes.dimensions)); },
      [](double v) { return fmt::format("{:.0f}", v); });
  return fmt::format(
      "outlier dimensions carry {} % of the {}{} ({} of {} dimensions: {}{}; for {} % of the "
      "tokens "
      "more than half)",
      span_text(
          range, [&](const LayerFacts& l) { return (l.causes.*share).value; }, percent),
      is_raw ? "trace" : "variance", after_tokens ? " of the others" : "", count,
      range.front().causes.dim, fmt::join(all, ", "), is_cut ? ", ..." : "",
      span_text(
          range, [](const LayerFacts& l) { return l.causes.dimension_tokens; }, percent));
}

std::string rank_text(Range range) {
  return fmt::format(
      "effective rank {} of {}",
      span_text(
          range, [](const LayerFacts& l) { return l.causes.effective_rank.value; }, decimal),
      span_text(
          range, [](const LayerFacts& l) { return l.causes.rank_ceiling; },
          [](double v) { return fmt::format("{:.0f}", v); }));
}

std::string intraclass_text(Range range) {
  return fmt::format(
      "intraclass correlation {}",
      span_text(
          range, [](const LayerFacts& l) { return l.causes.intraclass.value; }, decimal));
}

std::string residual_text(Range range) {
  return fmt::format(
      "distance to rank one {}",
      span_text(
          range, [](const LayerFacts& l) { return l.causes.rank_one_residual.value; }, decimal));
}

std::string control_text(Range range) {
  const auto subject = [](double TokenControl::*value) {
    return [value](const LayerFacts& layer) {
      return layer.causes.control ? (*layer.causes.control).*value
                                  : std::numeric_limits<double>::quiet_NaN();
    };
  };
  return fmt::format(
      "random vectors of the same tokens give intraclass correlation {}, effective "
      "rank {}",
      span_text(range, subject(&TokenControl::intraclass), decimal),
      span_text(range, subject(&TokenControl::effective_rank), decimal));
}

std::string phrase_of(CollapseCause cause, Range range, const CollapseOptions& options,
                      const TokenText& token_text) {
  const std::vector<CollapseFinding>& findings = range.front().findings;
  const bool after_tokens = findings.front().cause == CollapseCause::kMassiveTokens;
  switch (cause) {
    case CollapseCause::kMassiveTokens: return massive_text(range, options, token_text);
    case CollapseCause::kOutlierDimensions: return dimension_text(range, after_tokens, options);
    case CollapseCause::kCommonDirection:
      return fmt::format(
          "a common direction, the mean vector, carries {} % of the trace{}",
          span_text(
              range, [](const LayerFacts& l) { return l.causes.common_share.value; }, percent),
          findings.front().cause == cause ? "" : " of the rest");
    case CollapseCause::kRankCollapse:
      return fmt::format("rank collapse, tokens of a sequence are nearly equal ({}, {})",
                         intraclass_text(range), residual_text(range));
    case CollapseCause::kDimensionalCollapse:
      return fmt::format("dimensional collapse, few directions remain ({})", rank_text(range));
    case CollapseCause::kRepetition:
      return fmt::format(
          "repetition of tokens, or few different ones, explains the rest ({}, {}; {})",
          rank_text(range), intraclass_text(range), control_text(range));
  }
  return "";
}

std::string layers_text(Range range) {
  const int first = range.front().layer;
  const int last = range.back().layer;
  return first == last ? fmt::format("layer {}", first)
                       : fmt::format("layers {} to {}", first, last);
}

bool is_collapse(CollapseCause cause) {
  return cause == CollapseCause::kRankCollapse || cause == CollapseCause::kDimensionalCollapse ||
         cause == CollapseCause::kRepetition;
}

bool collapses(const LayerFacts& layer) {
  return std::ranges::any_of(
      layer.findings, [](const CollapseFinding& finding) { return is_collapse(finding.cause); });
}

/// "massive tokens and outlier dimensions; the rest does not collapse".
std::string headline(const LayerFacts& layer) {
  if (layer.findings.empty()) return "no collapse";
  std::vector<std::string> names;
  for (const CollapseFinding& finding : layer.findings) {
    names.push_back(fmt::format("{}{}", enum_name(finding.cause),
                                finding.is_certain ? "" : " (undecided, near the threshold)"));
  }
  return fmt::format("{}{}", fmt::join(names, " and "),
                     collapses(layer) ? "" : "; the rest does not collapse");
}

/// Says what is left without the outliers and the mean.
std::string rest_text(Range range) {
  const std::string ratios = fmt::format(
      "participation ratio {}, of the rest {}",
      span_text(
          range, [](const LayerFacts& l) { return l.causes.participation; }, decimal),
      span_text(
          range, [](const LayerFacts& l) { return l.causes.participation_rest; }, decimal));
  if (collapses(range.front())) return ratios;
  return fmt::format("{}, {}, {}", rank_text(range), intraclass_text(range), ratios);
}

bool has(const LayerFacts& layer, CollapseCause cause) {
  return std::ranges::any_of(layer.findings, [&](const CollapseFinding& finding) {
    return finding.cause == cause && finding.is_certain;
  });
}

/// Says which of the causes random weights show too, and which training removed.
std::string random_text(Range range, Range random) {
  std::vector<std::string> same;
  std::vector<std::string> trained;
  std::vector<std::string> removed;
  for (const auto& [cause, name] : EnumNames<CollapseCause>::kNames) {
    const auto count =
        std::ranges::count_if(random, [&](const LayerFacts& layer) { return has(layer, cause); });
    const bool is_random = 2 * count > std::ssize(random);
    const bool is_here = std::ranges::any_of(
        range.front().findings, [&](const CollapseFinding& f) { return f.cause == cause; });
    if (is_random && is_here) same.emplace_back(name);
    if (!is_random && is_here) trained.emplace_back(name);
    if (is_random && !is_here) removed.emplace_back(name);
  }
  std::string text;
  if (!same.empty()) {
    text += fmt::format("; random weights show {} too: architecture, not training",
                        fmt::join(same, " and "));
  }
  if (!trained.empty()) {
    text += fmt::format("; random weights show no {}: training", fmt::join(trained, " and no "));
  }
  if (!removed.empty()) {
    text += fmt::format("; random weights show {}, which training removed",
                        fmt::join(removed, " and "));
  }
  return text;
}

}  // namespace

RangeSentence sentence_of(Range range, Range random, const CollapseOptions& options,
                          const TokenText& token_text) {
  RangeSentence sentence{layers_text(range), headline(range.front()), ""};
  for (const CollapseFinding& finding : range.front().findings) {
    sentence.evidence += phrase_of(finding.cause, range, options, token_text) + "; ";
  }
  sentence.evidence += rest_text(range);
  if (!random.empty()) sentence.evidence += random_text(range, random);
  return sentence;
}

std::vector<std::string> caveats_of(Range layers, bool has_random, std::string_view random_option) {
  std::vector<std::string> lines = {
      "one checkpoint and one text: other training seeds and other texts may differ"};
  if (layers.empty()) return lines;
  const std::int64_t sequences = layers.front().causes.sequences;
  if (sequences == 1) {
    lines.emplace_back(
        "one sequence: a common direction cannot be told from rank collapse; capture more");
  }
  if (sequences < kFewestResampledSequences) {
    lines.push_back(fmt::format("{} sequence{}: no intervals, verdicts follow the values alone",
                                sequences, sequences == 1 ? "" : "s"));
  } else if (sequences < kFewSequences) {
    lines.push_back(
        fmt::format("{} sequences: intervals over so few are too narrow; capture at least {}",
                    sequences, kFewSequences));
  }
  if (layers.size() == 1) lines.emplace_back("one layer: no change over depth can be seen");
  if (!has_random) {
    lines.push_back(
        fmt::format("architecture or training: compare with the same config with random weights on "
                    "the same text ({})",
                    random_option));
  }
  return lines;
}

}  // namespace lime
