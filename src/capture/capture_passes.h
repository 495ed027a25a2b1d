// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "capture/edit_hooks.h"
#include "capture/sites.h"
#include "core/threads/bounded_queue.h"
#include "model/decoders/decoder.h"
#include "model/decoders/decoder_weights.h"
#include "model/passes/device_link.h"
#include "model/passes/hooks.h"

namespace lime {

/// Copy of an activation in CPU memory, as float32.
///
/// From a GPU it is copied to pinned memory on a side stream, for which the computation never
/// waits; from the CPU immediately.
class HostCopy {
 public:
  /// @param side  of the activation's device
  HostCopy(const at::Tensor& activation, const SideStream& side);

  const at::Tensor& get() const;
  std::size_t bytes() const { return host_.nbytes(); }

 private:
  at::Tensor host_;
  StreamMark copied_;
};

/// Transfers activations from the threads of a Pipeline to the collecting thread, pass by pass.
///
/// Each stage has a queue of copies in CPU memory and waits while it is full.
class ActivationRelay {
 public:
  /// Converts an activation on its device to the form to be copied; may return it unchanged.
  using Prepare = std::function<at::Tensor(std::size_t point, const at::Tensor& activation)>;
  using Receive = std::function<void(std::size_t point, const at::Tensor& activation)>;

  /// @param points           each reached once by every pass
  /// @param bytes_per_stage  maximum size of each queue
  ActivationRelay(const std::vector<DecoderStage>& stages, const std::vector<HookPoint>& points,
                  Prepare prepare, std::size_t bytes_per_stage);

  const HookSet& hooks() const { return hooks_; }

  /// Waits for the oldest pending pass and calls `receive` with all of its activations, as float32
  /// in CPU memory.
  /// @return false if the relay was closed first.
  bool take_pass(const Receive& receive);

  /// Ends all waits; passes in flight then fail. Thread-safe.
  void close();

 private:
  struct Item {
    std::size_t point;
    HostCopy copy;
  };
  struct Stage {
    Stage(c10::Device device, std::size_t bytes) : copies(device), queue(bytes) {}
    const SideStream copies;
    BoundedQueue<Item> queue;
    std::size_t num_points = 0;
  };

  std::vector<std::unique_ptr<Stage>> stages_;
  HookSet hooks_;
  std::vector<ScopedHook> registrations_;
};

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
