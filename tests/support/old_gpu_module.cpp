// SPDX-License-Identifier: Apache-2.0

// A GPU module of an earlier interface.

#include "metrics/device/gpu_module.h"

extern "C" const lime::gpu_module::Module* lime_gpu_module() {
  static constexpr lime::gpu_module::Module kModule{.version = lime::gpu_module::kVersion - 1,
                                                    .count_gpus = nullptr,
                                                    .upload = nullptr,
                                                    .release = nullptr,
                                                    .gram_spectra = nullptr};
  return &kModule;
}
