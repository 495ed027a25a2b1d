// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to the BLiMP analysis: its zero-shot unit.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/blimp/blimp_rows.h"

namespace lime {

/// Returns the zero-shot unit of input `index`. Refuses captures without scores.
Unit zero_shot_unit(const std::shared_ptr<const BlimpShared>& shared, std::size_t index);

/// Returns the tie rule of a capture and the name of its preset.
/// @throws InvalidArgument  if it has no scores of pairs.
std::pair<TieRule, std::string> zero_shot_preset(const CaptureReader& capture);

/// Returns the log-likelihoods of the good and the bad sentences of a task.
struct PairScores {
  std::vector<double> good;
  std::vector<double> bad;
};
PairScores scores_of(const CaptureReader& capture, const PairTask& task);

}  // namespace lime
