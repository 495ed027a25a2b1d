// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/options.h"
#include "model/decoder.h"

namespace lime {

/// How training computes, as opposed to what: a run may be resumed with others.
struct ComputeOptions {
  /// As parse_device() reads it.
  std::string device = "cpu";
  /// bfloat16 where LibTorch's autocast takes it, on CUDA only; weights stay in float32.
  bool autocast = false;
  /// Compute blocks again in the backward pass: less memory, more time, the same gradients.
  bool activation_checkpointing = false;

  void describe(OptionList& list);
  /// @throws InvalidArgument  for autocast on the processor, or a device that is not there.
  void validate() const;
  DecoderOptions decoder_options() const;
};

}  // namespace lime
