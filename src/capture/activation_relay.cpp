// SPDX-License-Identifier: Apache-2.0
#include "capture/activation_relay.h"

#include <ATen/Functions.h>

#include <cassert>
#include <optional>
#include <utility>

namespace lime {

HostCopy::HostCopy(const at::Tensor& activation, const SideStream& side) {
  const bool is_pinned = activation.is_cuda();
  host_ = at::empty(activation.sizes(),
                    at::TensorOptions(at::kFloat).device(at::kCPU).pinned_memory(is_pinned));
  side.follow(SideStream::current(activation.device()));
  side.keep(activation);
  const SideStreamScope scope({side});
  // Convert to dense float32 on the GPU first: a single transfer then fills the pinned tensor.
  const at::Tensor dense = is_pinned ? activation.to(at::kFloat).contiguous() : activation;
  host_.copy_(dense, /*non_blocking=*/is_pinned);
  copied_ = StreamMark(side);
}

const at::Tensor& HostCopy::get() const {
  copied_.wait();
  return host_;
}

namespace {

std::size_t stage_of(const std::vector<DecoderStage>& stages, int layer) {
  std::size_t stage = 0;
  while (stages[stage].layers.end() <= layer) ++stage;
  return stage;
}

}  // namespace

ActivationRelay::ActivationRelay(const std::vector<DecoderStage>& stages,
                                 const std::vector<HookPoint>& points, Prepare prepare,
                                 std::size_t bytes_per_stage) {
  for (const DecoderStage& stage : stages) {
    stages_.push_back(std::make_unique<Stage>(stage.device, bytes_per_stage));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    Stage& stage = *stages_[stage_of(stages, points[i].layer)];
    ++stage.num_points;
    registrations_.push_back(hooks_.read(
        points[i], [&stage, prepare, i](const HookPoint&, const at::Tensor& activation) {
          HostCopy copy(prepare(i, activation), stage.copies);
          const std::size_t bytes = copy.bytes();
          if (!stage.queue.push({i, std::move(copy)}, bytes)) {
            throw Interrupted("capture: the pass was cancelled");
          }
        }));
  }
}

bool ActivationRelay::take_pass(const Receive& receive) {
  for (const auto& stage : stages_) {
    for (std::size_t i = 0; i < stage->num_points; ++i) {
      const std::optional<Item> item = stage->queue.pop();
      if (!item) return false;
      receive(item->point, item->copy.get());
    }
  }
  return true;
}

void ActivationRelay::close() {
  for (const auto& stage : stages_) stage->queue.close_and_clear();
}

}  // namespace lime
