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

#include "core/bounded_queue.h"
#include "model/decoder.h"

namespace lime {

/// Runs batches through a decoder, several at a time: each stage has a thread of its own and works
/// on the next batch while what it made of the last one travels to the stage behind it.
///
///   Pipeline pipeline(decoder, options, [&] { return more ? next_ids() : at::Tensor(); });
///   while (std::optional<ForwardResult> result = pipeline.pop()) ...
///
/// Results leave in the order of the batches, equal bit for bit to those of Decoder::forward(). At
/// most one batch waits between two stages, and one result behind the last, so at most
/// 2 * stages are under way. Listeners are called on the thread of their layer's stage, those of
/// different stages at the same time; on a GPU, their work goes into that thread's current stream.
/// Inference only.
class Pipeline {
 public:
  /// @param options  of every pass; workspace, cache and targets must be left out
  /// @param next     ids of the next batch, undefined behind the last; called on a thread of the
  ///                 pipeline
  /// @param on_end   called when the passes under way are given up, because one failed or because
  ///                 the pipeline is destroyed: must wake listeners that wait for the owner
  Pipeline(const Decoder& decoder, const ForwardOptions& options, std::function<at::Tensor()> next,
           std::function<void()> on_end = {});
  /// Gives up what is under way.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// The oldest result that was not taken yet; waits for it. Nothing behind the last.
  /// @throws what `next`, a listener or a pass threw first; the other stages have then been told.
  std::optional<ForwardResult> pop();

 private:
  /// A batch on its way. The pass works in the workspace, so it goes first.
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
  std::vector<std::unique_ptr<Handover>> handovers_;  // behind each stage but the last
  BoundedQueue<ForwardResult> results_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_workspaces_;  // guarded
  std::exception_ptr failure_;                               // guarded
  std::vector<std::thread> threads_;
};

}  // namespace lime
