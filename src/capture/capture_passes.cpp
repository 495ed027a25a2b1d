// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_passes.h"

#include <ATen/Functions.h>

#include <cassert>

#include "capture/activation_collector.h"
#include "model/passes/pipeline.h"

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

ForwardOptions pass_options(const HookSet& hooks, int last_layer) {
  return {.hooks = &hooks, .stop_after_layer = last_layer, .logits = LogitsFor::kNone};
}

at::Tensor as_rows(const CapturePoint& point, const at::Tensor& activation) {
  return point.num_keys > 0 ? pattern_by_query(activation, point.num_keys) : activation;
}

/// Runs passes on the calling thread.
class DirectPasses final : public CapturePasses {
 public:
  DirectPasses(const Decoder& decoder, Settings settings, NextBatch next_batch)
      : decoder_(decoder), settings_(std::move(settings)), next_batch_(std::move(next_batch)) {
    if (settings_.edits != nullptr) registrations_ = settings_.edits->attach(hooks_);
    for (std::size_t i = 0; i < settings_.points.size(); ++i) {
      const CapturePoint& point = settings_.points[i];
      registrations_.push_back(
          hooks_.read(point.hook(), [this, i](const HookPoint&, const at::Tensor& activation) {
            (*receive_)(i, as_rows(settings_.points[i], activation));
          }));
    }
  }

  bool keeps_activations() const override { return false; }

  ForwardResult next(const Receive& receive) override {
    receive_ = &receive;
    ForwardOptions options = pass_options(hooks_, settings_.last_layer);
    options.workspace = &workspace_;
    return decoder_.forward(next_batch_(), options);
  }

 private:
  const Decoder& decoder_;
  const Settings settings_;
  const NextBatch next_batch_;
  const Receive* receive_ = nullptr;  // of the current pass
  Workspace workspace_;
  HookSet hooks_;
  std::vector<ScopedHook> registrations_;
};

/// Runs passes on the threads of a pipeline.
class PipedPasses final : public CapturePasses {
 public:
  PipedPasses(const Decoder& decoder, const Settings& settings, NextBatch next_batch)
      : relay_(
            decoder.stages(), hook_points_of(settings.points),
            [points = settings.points](std::size_t i, const at::Tensor& activation) {
              return as_rows(points[i], activation);
            },
            settings.waiting_bytes),
        pipeline_(decoder, pass_options(relay_.hooks(), settings.last_layer), std::move(next_batch),
                  [this] { relay_.close(); }) {}

  bool keeps_activations() const override { return true; }

  ForwardResult next(const Receive& receive) override {
    relay_.take_pass(receive);                              // incomplete only if a pass failed
    std::optional<ForwardResult> result = pipeline_.pop();  // rethrows the failure
    assert(result);
    return std::move(*result);
  }

 private:
  static std::vector<HookPoint> hook_points_of(const std::vector<CapturePoint>& points) {
    std::vector<HookPoint> found;
    for (const CapturePoint& point : points) found.push_back(point.hook());
    return found;
  }

  ActivationRelay relay_;
  Pipeline pipeline_;
};

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

bool runs_ahead(const std::vector<c10::Device>& devices) {
  return devices.size() > 1 || !devices.front().is_cpu();
}

std::unique_ptr<CapturePasses> make_passes(const Decoder& decoder, CapturePasses::Settings settings,
                                           CapturePasses::NextBatch next_batch) {
  if (runs_ahead(decoder.options().devices) && settings.edits == nullptr &&
      !settings.stays_on_device) {
    return std::make_unique<PipedPasses>(decoder, settings, std::move(next_batch));
  }
  return std::make_unique<DirectPasses>(decoder, std::move(settings), std::move(next_batch));
}

}  // namespace lime
