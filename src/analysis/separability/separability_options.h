// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/engine/capture_set.h"
#include "metrics/probes/adam_probe.h"
#include "metrics/probes/probe.h"

namespace lime {

/// Training method of the linear classifier.
enum class SeparabilityMethod {
  kConverged,  ///< to the optimum of scikit-learn's objective
  kLimeCode,   ///< one epoch of Adam on raw features, as the paper's code
  kBoth,
};

template <>
struct EnumNames<SeparabilityMethod> {
  static constexpr std::array<std::pair<SeparabilityMethod, std::string_view>, 3> kNames = {
      {{SeparabilityMethod::kConverged, "converged"},
       {SeparabilityMethod::kLimeCode, "lime-code"},
       {SeparabilityMethod::kBoth, "both"}}};
};

/// Control that a probe is compared with.
enum class ProbeControl {
  kShuffled,        ///< labels in random order
  kToken,           ///< a random label for each token id (Hewitt & Liang)
  kSequence,        ///< a random label for each sequence
  kRandomFeatures,  ///< the real labels, normal variates in place of the rows
};

template <>
struct EnumNames<ProbeControl> {
  static constexpr std::array<std::pair<ProbeControl, std::string_view>, 4> kNames = {
      {{ProbeControl::kShuffled, "shuffled"},
       {ProbeControl::kToken, "token"},
       {ProbeControl::kSequence, "sequence"},
       {ProbeControl::kRandomFeatures, "random-features"}}};
};

/// Rows that must be in the same fold.
enum class ProbeGroup { kNone, kSequence };

template <>
struct EnumNames<ProbeGroup> {
  static constexpr std::array<std::pair<ProbeGroup, std::string_view>, 2> kNames = {
      {{ProbeGroup::kNone, "none"}, {ProbeGroup::kSequence, "sequence"}}};
};

/// Options of the separability of words.
struct SeparabilityOptions {
  CaptureSetOptions captures;
  std::vector<std::string> words;             ///< classes of the captures; empty: all
  std::optional<std::int64_t> max_per_class;  ///< only the first rows of each class, > 0
  SeparabilityMethod method = SeparabilityMethod::kConverged;
  ProbeOptions probe;  ///< of the converged method
  int folds = 5;       ///< >= 2
  /// numpy's random_state of the folds, < 2^32; 42 as in the LIMe code.
  std::uint64_t random_state = 42;
  ProbeGroup group = ProbeGroup::kNone;
  std::vector<ProbeControl> control;

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

}  // namespace lime
