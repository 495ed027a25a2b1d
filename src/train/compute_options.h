// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/options.h"
#include "model/decoders/decoder.h"

namespace lime {

/// How training computes, as opposed to what it computes; a resumed run may change these options.
struct ComputeOptions {
  /// Device name, see parse_device().
  std::string device = "cpu";
  /// Uses bfloat16 where LibTorch's autocast allows, on CUDA only; weights stay in float32.
  bool autocast = false;
  /// Recomputes blocks in the backward pass: less memory, more time, the same gradients.
  bool activation_checkpointing = false;

  void describe(OptionList& list);
  /// @throws InvalidArgument  for autocast on the CPU, or a device that does not exist.
  void validate() const;
  DecoderOptions decoder_options() const;
};

}  // namespace lime
