// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "capture/host_copy.h"
#include "core/bounded_queue.h"
#include "model/decoder_weights.h"
#include "model/hooks.h"

namespace lime {

/// Brings activations from the threads of a Pipeline to the one that collects them, pass by pass.
///
/// Each stage has a queue of copies in this machine's memory, in the order in which a pass reaches
/// the points; a stage whose queue is full waits.
class ActivationRelay {
 public:
  /// What a listener makes of an activation, on its device: itself, or another form of it.
  using Prepare = std::function<at::Tensor(std::size_t point, const at::Tensor& activation)>;
  using Receive = std::function<void(std::size_t point, const at::Tensor& activation)>;

  /// @param points           each reached once by every pass
  /// @param bytes_per_stage  that may wait
  ActivationRelay(const std::vector<DecoderStage>& stages, const std::vector<HookPoint>& points,
                  Prepare prepare, std::size_t bytes_per_stage);

  /// What the passes must listen with.
  const HookSet& hooks() const { return hooks_; }

  /// Gives `receive` all activations of the oldest pass that was not taken yet, as float32 on the
  /// processor; waits for them.
  /// @return false if the relay was closed before.
  bool take_pass(const Receive& receive);

  /// Ends all waiting; passes under way then fail. Thread-safe.
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
