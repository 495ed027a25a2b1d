// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "capture/activation_rows.h"
#include "capture/row_accumulator.h"
#include "capture/shard_writer_thread.h"
#include "capture/sites.h"
#include "capture/window_plan.h"
#include "checkpoint/model_config.h"

namespace lime {

struct CaptureBatch {
  std::vector<std::int64_t> sequences;  ///< their indices
  std::vector<std::int64_t> lengths;    ///< tokens of each sequence; later positions are padding
  /// For mean-pooled rows: 1 per sequence and token if the token counts; else empty.
  std::vector<std::vector<std::uint8_t>> counts;

  std::int64_t num_tokens() const;
};

/// Accumulates statistics over every token of forward passes until take_statistics(), and sends the
/// selected rows to the writer: pooled rows in input order at the end of a window. Not thread-safe.
class ActivationCollector {
 public:
  struct Settings {
    RowKind rows = RowKind::kTokens;
    bool keeps_all_tokens = true;
    bool allow_nan = false;
  };

  ActivationCollector(const std::vector<CapturePoint>& points, const ModelConfig& config,
                      const Settings& settings, ShardWriterThread& writer);

  /// @param window  must outlive end_window().
  /// @param rows    rows to keep in the window, in order; pooled rows: one per sequence
  void begin_window(const CaptureWindow& window, RowTable rows);
  /// @param batch  must outlive the pass.
  void begin_batch(const CaptureBatch& batch);
  /// Processes the activation of a point, one row per token, as provided by CapturePasses.
  /// @param is_kept  nobody writes to the activation's memory as long as it exists
  void receive(std::size_t point, const at::Tensor& activation, bool is_kept);
  /// Ends the window. Sequences with the same ids get bit-identical rows.
  void end_window();
  std::vector<ShardStatistics> take_statistics();

 private:
  struct Target {
    CapturePoint place;
    ShardStatistics statistics;
    std::optional<RowPool::Lease> pooled = std::nullopt;  ///< of the window, [sequences, dim]
  };

  bool pools() const { return settings_.rows != RowKind::kTokens; }
  bool can_send_all(const ActivationRows& rows) const;
  void send_rows(const Target& target, const ActivationRows& rows, RowPool::Lease buffer);
  void pool_rows(Target& target, const ActivationRows& rows);
  void check_finite(const Target& target) const;

  Settings settings_;
  ShardWriterThread& writer_;
  const CaptureWindow* window_ = nullptr;
  RowTable rows_;  // of the window
  const CaptureBatch* batch_ = nullptr;
  std::vector<float> means_;  // of the current pass
  RowAccumulator accumulator_;
  std::vector<Target> targets_;  // in the order of the points
};

}  // namespace lime
