// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "capture/capture.h"
#include "capture/capture_setup.h"
#include "capture/capture_window.h"

namespace lime {

/// Selects the batch and queue sizes within the available memory.
/// @param setup  with input, sites, activations and points; receives the sizes.
/// @throws InvalidArgument  if the memory is insufficient, as plan_capture_memory(), or even the
///         smallest pass does not fit on a device.
void choose_sizes(const CaptureOptions& options, const CaptureTuning& tuning,
                  const CapturePlace& place, CaptureSetup& setup);

/// Determines how the passes of a capture are grouped into windows, after choose_sizes(). Both
/// sentences of a pair are in one window, hence an even number per pass. Pooled rows are buffered
/// until their window ends.
WindowLimits plan_passes(const CaptureOptions& options, const CaptureSetup& setup);

}  // namespace lime
