// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "capture/host_copy.h"
#include "core/threads/bounded_queue.h"
#include "model/decoders/decoder_weights.h"
#include "model/passes/hooks.h"

namespace lime {

/// Transfers activations from the threads of a Pipeline to the collecting thread, pass by pass.
///
/// Each stage has a queue of copies in CPU memory, in the order in which a pass reaches the points;
/// a stage whose queue is full waits.
class ActivationRelay {
 public:
  /// Converts an activation on its device to the form to be copied; may return it unchanged.
  using Prepare = std::function<at::Tensor(std::size_t point, const at::Tensor& activation)>;
  using Receive = std::function<void(std::size_t point, const at::Tensor& activation)>;

  /// @param points           each reached once by every pass
  /// @param bytes_per_stage  maximum size of each queue
  ActivationRelay(const std::vector<DecoderStage>& stages, const std::vector<HookPoint>& points,
                  Prepare prepare, std::size_t bytes_per_stage);

  /// Returns the hooks that the passes must use.
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

}  // namespace lime
