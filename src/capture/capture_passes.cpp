// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_passes.h"

#include <ATen/Functions.h>

#include <cassert>
#include <optional>
#include <utility>

#include "capture/activation_relay.h"
#include "capture/activation_rows.h"
#include "model/passes/pipeline.h"

namespace lime {
namespace {

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
