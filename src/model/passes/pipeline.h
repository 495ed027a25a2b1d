// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/threads/bounded_queue.h"
#include "model/decoders/decoder.h"

namespace lime {

/// Runs batches through a decoder, several at a time: each stage has its own thread and computes
/// the next batch while its last output is transferred to the following stage.
///
///   Pipeline pipeline(decoder, options, [&] { return more ? next_ids() : at::Tensor(); });
///   while (std::optional<ForwardResult> result = pipeline.pop()) ...
///
/// Results are returned in the order of the batches, bit-identical to Decoder::forward(). At most
/// one batch waits between two stages, and one result after the last, so at most 2 * stages are in
/// flight. Hooks are called on the thread of their layer's stage, those of different stages
/// concurrently; on a GPU they use that thread's current stream. Inference only.
class Pipeline {
 public:
  /// @param options  without workspace, cache and targets. @param next  returns the ids of the next
  /// batch, undefined after the last; called on a thread. @param on_end  called when passes in
  /// flight are cancelled: must wake hooks that wait for the owner.
  Pipeline(const Decoder& decoder, const ForwardOptions& options, std::function<at::Tensor()> next,
           std::function<void()> on_end = {});
  /// Cancels passes in flight.
  ~Pipeline();

  /// Waits for the next result and returns it; none after the last.
  /// @throws the first exception of `next`, a hook or a pass, after which the stages stop.
  std::optional<ForwardResult> pop();

 private:
  /// A batch in flight. The pass uses the workspace, so it is destroyed first.
  struct Batch {
    std::unique_ptr<Workspace> workspace;
    std::unique_ptr<ForwardPass> pass;
  };
  using Handover = BoundedQueue<Batch>;

  void serve(std::size_t stage);
  void work(std::size_t stage);
  std::optional<Batch> begin_batch();
  bool finish(Batch batch);
  void give_up();

  const Decoder& decoder_;
  const ForwardOptions options_;
  const std::function<at::Tensor()> next_;
  const std::function<void()> on_end_;
  const std::size_t last_stage_;
  int threads_per_stage_ = 1;
  std::vector<std::unique_ptr<Handover>> handovers_;  // after each stage but the last
  BoundedQueue<ForwardResult> results_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_workspaces_;  // guarded by mutex
  std::exception_ptr failure_;                               // guarded by mutex
  std::vector<std::thread> threads_;
};

}  // namespace lime
