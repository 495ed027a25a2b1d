// SPDX-License-Identifier: Apache-2.0
#include "train/compute_options.h"

#include "core/errors.h"
#include "model/kernels/compute_type.h"

namespace lime {

void ComputeOptions::describe(OptionList& list) {
  list.group("Computing");
  list.add("device", device, "cpu, cuda, cuda:N or auto");
  list.add("autocast", autocast, "compute in bfloat16 where that is safe; CUDA only");
  list.add("activation_checkpointing", activation_checkpointing,
           "recompute blocks in the backward pass: less memory, more time");
}

void ComputeOptions::validate() const {
  const c10::Device where = parse_device(device);
  if (autocast && !where.is_cuda()) {
    throw InvalidArgument(
        "autocast: bfloat16 is for CUDA, got device '{}'; omit --autocast or use --device cuda",
        where.str());
  }
}

DecoderOptions ComputeOptions::decoder_options() const {
  return {.devices = {parse_device(device)}};
}

}  // namespace lime
