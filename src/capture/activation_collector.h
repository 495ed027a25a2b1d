// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/activation_rows.h"
#include "capture/capture_points.h"
#include "capture/capture_window.h"
#include "capture/row_selection.h"
#include "capture/shard_writer_thread.h"
#include "checkpoint/model_config.h"

namespace lime {

/// The sequences of one forward pass.
struct CaptureBatch {
  std::vector<std::int64_t> sequences;  ///< their numbers
  std::vector<std::int64_t> lengths;    ///< tokens of each sequence; the rest is padding
  /// For rows as means: per sequence and token 1 where the token counts; else empty.
  std::vector<std::vector<std::uint8_t>> counts;

  std::int64_t num_tokens() const;
};

/// Keeps statistics of every token of forward passes and hands the chosen rows to the writer.
///
/// Call begin_window(); for each of its passes begin_batch(), then receive() for each point; then
/// end_window(), which hands over pooled rows in the order of the input. Statistics gather from
/// pass to pass until take_statistics(). Not thread-safe.
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
  /// @param rows    what is kept of the window, in order; pooled rows: one per sequence
  void begin_window(const CaptureWindow& window, RowTable rows);
  /// @param batch  must outlive the pass.
  void begin_batch(const CaptureBatch& batch);
  /// Takes an activation of a point, a row per token, as CapturePasses shows it.
  void receive(std::size_t point, const at::Tensor& activation);
  /// Sequences with the same ids get the same rows, bit for bit.
  void end_window();
  /// What was gathered since the last call.
  std::vector<ShardStatistics> take_statistics();

 private:
  /// What one hook point feeds.
  struct Target {
    CapturePoint place;
    ShardStatistics statistics;
    RowBuffers::Buffer pooled = {};  ///< of the window, [sequences, dim]
  };

  bool pools() const { return settings_.rows != RowKind::kTokens; }
  void send_rows(const Target& target, const ActivationRows& rows, RowBuffers::Buffer buffer);
  void pool_rows(Target& target, const ActivationRows& rows);
  void check_finite(const Target& target) const;

  Settings settings_;
  ShardWriterThread& writer_;
  const CaptureWindow* window_ = nullptr;
  RowTable rows_;  // of the window
  const CaptureBatch* batch_ = nullptr;
  std::vector<float> means_;  // of the pass
  RowAccumulator accumulator_;
  std::vector<Target> targets_;  // of the points, in their order
};

}  // namespace lime
