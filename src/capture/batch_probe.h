// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "capture/capture_setup.h"
#include "capture/input.h"
#include "model/decoder.h"

namespace lime {

/// Ids of the sequences of a pass, padded with 0 to the longest: causal attention lets no token see
/// what stands behind it.
/// @return int64 [sequences, tokens of the longest], on the CPU.
at::Tensor batch_ids(const CaptureInput& input, std::span<const std::int64_t> sequences);

/// The largest multiple of `step` up to `most` that fits, where less always fits too: doubling,
/// then halving what is left. @return 0 if not even `step` fits.
std::int64_t largest_fitting(std::int64_t step, std::int64_t most,
                             const std::function<bool(std::int64_t)>& fits);

/// Finds out what a device's memory takes by running passes of the longest sequences, with all that
/// the capture listens to.
class BatchProbe {
 public:
  BatchProbe(const CaptureSetup& setup, const Decoder& decoder);

  /// Sequences per pass, at most `most`; 0 if not even the fewest that may go together.
  std::int64_t largest(std::int64_t most) const;

 private:
  bool fits(std::int64_t batch_size) const;

  const CaptureSetup& setup_;
  const Decoder& decoder_;
  std::vector<std::int64_t> longest_first_;  ///< numbers of sequences
};

}  // namespace lime
