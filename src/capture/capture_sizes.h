// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "capture/capture.h"
#include "capture/capture_setup.h"
#include "capture/capture_window.h"

namespace lime {

/// Chooses the batch, and how much waits for the disk, within the memory that may be taken.
/// @param setup  with input, sites, activations and points; gets the sizes.
/// @throws InvalidArgument  if the memory does not do, as plan_capture_memory(), or a device takes
///                          not even the smallest pass.
void choose_sizes(const CaptureOptions& options, const CaptureTuning& tuning,
                  const CapturePlace& place, CaptureSetup& setup);

/// Cuts the passes of a capture whose sizes are chosen into windows. Both sentences of a pair fall
/// into one window, hence an even number per pass. Pooled rows wait in memory until their window
/// ends.
WindowLimits plan_passes(const CaptureOptions& options, const CaptureSetup& setup);

}  // namespace lime
