// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "capture/capture_points.h"
#include "model/decoder.h"

namespace lime {

/// The forward passes of a capture, and what they show at its hook points.
///
/// On the processor a pass runs when it is asked for, and its activations are shown where they lie.
/// On GPUs, and where several devices share the layers, passes run ahead in a Pipeline, and what
/// they show is copied beside the computation.
class CapturePasses {
 public:
  /// Ids of the next batch, undefined behind the last; may be called on another thread.
  using NextBatch = std::function<at::Tensor()>;
  /// Called for each point once per pass, on the thread that called next(). The activation may be
  /// a strided view and is valid during the call only.
  using Receive = std::function<void(std::size_t point, const at::Tensor& activation)>;

  struct Settings {
    std::vector<CapturePoint> points;
    int last_layer = 0;  ///< the passes end after it
    /// Of copied activations that wait, for each device; see CaptureLoad::relay_bytes().
    std::size_t waiting_bytes = 0;
  };

  CapturePasses() = default;
  virtual ~CapturePasses() = default;
  CapturePasses(const CapturePasses&) = delete;
  CapturePasses& operator=(const CapturePasses&) = delete;

  /// Shows one batch after the other, in order; to be called as often as there are batches.
  virtual ForwardResult next(const Receive& receive) = 0;
};

/// True where passes run ahead.
bool runs_ahead(const std::vector<c10::Device>& devices);

std::unique_ptr<CapturePasses> make_passes(const Decoder& decoder, CapturePasses::Settings settings,
                                           CapturePasses::NextBatch next_batch);

}  // namespace lime
