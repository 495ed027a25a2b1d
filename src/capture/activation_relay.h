// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "core/threads/bounded_queue.h"
#include "model/decoders/stage_plan.h"
#include "model/passes/hooks.h"
#include "model/passes/side_stream.h"

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

}  // namespace lime
