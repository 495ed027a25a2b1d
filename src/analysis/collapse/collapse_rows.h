// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "metrics/collapse/collapse_sentences.h"
#include "store/results/result_row.h"

namespace lime {

/// Kind of the rows that describe a range of layers.
inline constexpr const char* kRangeKind = "range";

/// Converts the measurements of a layer to a row, without its key.
ResultRow row_of_facts(const LayerFacts& facts, const std::string& massive_text);

/// Converts a row of row_of_facts() back, without the list of massive tokens.
/// @param options  with which the causes were measured
LayerFacts facts_of_row(const ResultRow& row, int layer, const CollapseOptions& options);

/// The verdict on consecutive layers of one site of a capture that have the same causes.
struct RangeVerdict {
  std::string label;
  std::string site;
  int first = 0;  ///< layer
  int last = 0;
  std::vector<CollapseFinding> findings;
  RangeSentence sentence;

  /// Returns the row of results, of kind kRangeKind.
  ResultRow row() const;
};

/// Returns the verdict on each range of the layers.
/// @param random  layers of the model with random weights; empty: none
std::vector<RangeVerdict> range_verdicts(const std::string& label, const std::string& site,
                                         std::span<const LayerFacts> layers,
                                         std::span<const LayerFacts> random,
                                         const CollapseOptions& options,
                                         const TokenText& token_text);

}  // namespace lime
