// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "capture/capture_setup.h"
#include "capture/input/input.h"
#include "model/decoders/decoder.h"

namespace lime {

/// Returns the ids of the sequences of a pass, padded with 0 to the longest; with causal attention
/// no token attends to the padding.
/// @return int64 [sequences, tokens of the longest], on the CPU.
at::Tensor batch_ids(const CaptureInput& input, std::span<const std::int64_t> sequences);

/// Returns the largest multiple of `step` up to `most` that fits, assuming that smaller ones fit
/// too: doubles, then bisects. @return 0 if not even `step` fits.
std::int64_t largest_fitting(std::int64_t step, std::int64_t most,
                             const std::function<bool(std::int64_t)>& fits);

/// Measures the batch size that fits into device memory by running passes over the longest
/// sequences, with all hooks of the capture.
class BatchProbe {
 public:
  BatchProbe(const CaptureSetup& setup, const Decoder& decoder);

  /// Returns the largest number of sequences per pass, at most `most`; 0 if even the minimum does
  /// not fit.
  std::int64_t largest(std::int64_t most) const;

 private:
  bool fits(std::int64_t batch_size) const;

  const CaptureSetup& setup_;
  const Decoder& decoder_;
  std::vector<std::int64_t> longest_first_;  ///< indices of sequences
};

}  // namespace lime
