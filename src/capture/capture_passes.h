// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "capture/edit_hooks.h"
#include "capture/sites.h"
#include "model/decoders/decoder.h"

namespace lime {

/// Runs the forward passes of a capture and provides their activations at its hook points.
///
/// On the CPU a pass runs on request, and its activations are used in place. On GPUs, and if
/// several devices share the layers, passes run ahead in a Pipeline, and their activations are
/// copied concurrently with the computation.
class CapturePasses {
 public:
  /// Returns the ids of the next batch, undefined after the last; may be called on another thread.
  using NextBatch = std::function<at::Tensor()>;
  /// Called for each point once per pass, on the thread that called next(). The activation may be
  /// a strided view and is valid during the call only.
  using Receive = std::function<void(std::size_t point, const at::Tensor& activation)>;

  struct Settings {
    std::vector<CapturePoint> points;
    int last_layer = 0;  ///< the passes end after this layer
    /// Maximum size of waiting activation copies, per device; see CaptureLoad::relay_bytes().
    std::size_t waiting_bytes = 0;
    /// Edits of the activations; they know the tokens of one pass at a time, so passes do not run
    /// ahead. The caller begins their passes; nullptr for none.
    std::shared_ptr<EditHooks> edits = nullptr;
    /// Whether activations are received on the device of their layer; passes do not run ahead.
    bool stays_on_device = false;
  };

  CapturePasses() = default;
  virtual ~CapturePasses() = default;
  CapturePasses(const CapturePasses&) = delete;
  CapturePasses& operator=(const CapturePasses&) = delete;

  /// Returns true if activations are copies of their own, which may outlive the call.
  virtual bool keeps_activations() const = 0;
  /// Runs the next batch, in order; call it once per batch.
  virtual ForwardResult next(const Receive& receive) = 0;
};

bool runs_ahead(const std::vector<c10::Device>& devices);

std::unique_ptr<CapturePasses> make_passes(const Decoder& decoder, CapturePasses::Settings settings,
                                           CapturePasses::NextBatch next_batch);

}  // namespace lime
