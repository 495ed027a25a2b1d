// SPDX-License-Identifier: Apache-2.0
#include "model/passes/pipeline.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>

#include "core/threads/threads.h"
#include "model/kernels/parallel_tiles.h"
#include "model/passes/forward_pass.h"

namespace lime {

Pipeline::Pipeline(const Decoder& decoder, const ForwardOptions& options,
                   std::function<at::Tensor()> next, std::function<void()> on_end)
    : decoder_(decoder),
      options_(options),
      next_(std::move(next)),
      on_end_(std::move(on_end)),
      last_stage_(decoder.last_stage(options.stop_after_layer)),
      results_(1) {
  const std::size_t count = last_stage_ + 1;
  threads_per_stage_ = std::max(1, num_tile_threads() / static_cast<int>(count));
  for (std::size_t i = 0; i < last_stage_; ++i) handovers_.push_back(std::make_unique<Handover>(1));
  start_threads(
      threads_, static_cast<int>(count),
      [this](int stage) { serve(static_cast<std::size_t>(stage)); }, [this] { give_up(); });
}

Pipeline::~Pipeline() {
  give_up();
  for (std::thread& thread : threads_) thread.join();
}

std::optional<ForwardResult> Pipeline::pop() {
  std::optional<ForwardResult> result = results_.pop();
  if (result) return result;
  const std::scoped_lock lock(mutex_);
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  return std::nullopt;
}

void Pipeline::give_up() {
  for (const auto& handover : handovers_) handover->close_and_clear();
  results_.close_and_clear();
  if (on_end_) on_end_();
}

void Pipeline::serve(std::size_t stage) {
  at::get_num_threads();  // the first call resets a new thread's number
  set_library_threads(threads_per_stage_);
  const at::NoGradGuard no_grad;
  const c10::DeviceGuard device(decoder_.stages()[stage].device);
  try {
    work(stage);
  } catch (...) {
    {
      const std::scoped_lock lock(mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
    give_up();
  }
}

void Pipeline::work(std::size_t stage) {
  const bool has_next = stage < last_stage_;
  while (std::optional<Batch> batch = stage == 0 ? begin_batch() : handovers_[stage - 1]->pop()) {
    decoder_.run_stage(*batch->pass, stage, has_next);
    const bool goes_on =
        has_next ? handovers_[stage]->push(std::move(*batch), 1) : finish(std::move(*batch));
    if (!goes_on) return;
  }
  if (has_next) {
    handovers_[stage]->close();
  } else {
    results_.close();
  }
}

std::optional<Pipeline::Batch> Pipeline::begin_batch() {
  const at::Tensor ids = next_();
  if (!ids.defined()) return std::nullopt;
  Batch batch;
  {
    const std::scoped_lock lock(mutex_);
    if (!free_workspaces_.empty()) {
      batch.workspace = std::move(free_workspaces_.back());
      free_workspaces_.pop_back();
    }
  }
  if (batch.workspace == nullptr) batch.workspace = std::make_unique<Workspace>();
  ForwardOptions options = options_;
  options.workspace = batch.workspace.get();
  batch.pass = decoder_.begin_pass(ids, options);
  return batch;
}

bool Pipeline::finish(Batch batch) {
  ForwardResult result = batch.pass->end();
  batch.pass.reset();
  {
    const std::scoped_lock lock(mutex_);
    free_workspaces_.push_back(std::move(batch.workspace));
  }
  return results_.push(std::move(result), 1);
}

}  // namespace lime
