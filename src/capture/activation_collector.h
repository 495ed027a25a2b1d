// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/activation_rows.h"
#include "capture/capture_window.h"
#include "capture/row_selection.h"
#include "capture/shard_writer_thread.h"
#include "capture/sites.h"
#include "checkpoint/model_config.h"
#include "model/hooks.h"

namespace lime {

/// The sequences of one forward pass.
struct CaptureBatch {
  std::vector<std::int64_t> sequences;  ///< their numbers
  std::vector<std::int64_t> lengths;    ///< tokens of each sequence; the rest is padding
  /// For rows as means: per sequence and token 1 where the token counts; else empty.
  std::vector<std::vector<std::uint8_t>> counts;

  std::int64_t num_tokens() const;
};

/// Listens to a forward pass: keeps statistics of every token and hands the chosen rows to the
/// writer.
///
/// Call begin_window(); for each of its passes begin_batch(), then run the pass with hooks(); then
/// end_window(), which hands over pooled rows in the order of the input. Statistics gather from
/// pass to pass until take_statistics(). Not thread-safe.
class ActivationCollector {
 public:
  struct Settings {
    RowKind rows = RowKind::kTokens;
    bool keeps_all_tokens = true;
    bool allow_nan = false;
    bool runs_all_layers = false;  ///< also those after the last activation
  };

  /// @param sites        those that `activations` come from.
  /// @param activations  of the plan, in its order.
  ActivationCollector(const std::vector<CaptureSite>& sites,
                      const std::vector<ActivationInfo>& activations, const ModelConfig& config,
                      const Settings& settings, ShardWriterThread& writer);

  const HookSet& hooks() const { return hooks_; }
  /// The last layer that a pass must compute.
  int last_layer() const { return last_layer_; }

  /// @param window  must outlive end_window().
  /// @param rows    what is kept of the window, in order; pooled rows: one per sequence
  void begin_window(const CaptureWindow& window, RowTable rows);
  /// @param batch  must outlive the pass.
  void begin_batch(const CaptureBatch& batch);
  /// Sequences with the same ids get the same rows, bit for bit.
  void end_window();
  /// What was gathered since the last call.
  std::vector<ShardStatistics> take_statistics();

 private:
  /// What one hook point feeds.
  struct Target {
    HookPoint point;
    ShardStatistics statistics;
    std::optional<std::size_t> activation =
        std::nullopt;  ///< index in the plan; none: statistics only
    std::int64_t dim = 0;
    std::int64_t num_keys = 0;       ///< of patterns, those of the longest sequence
    RowBuffers::Buffer pooled = {};  ///< of the window, [sequences, dim]
  };

  bool pools() const { return settings_.rows != RowKind::kTokens; }
  void receive(Target& target, const at::Tensor& activation);
  void send_rows(const Target& target, const ActivationRows& rows, RowBuffers::Buffer buffer);
  void pool_rows(Target& target, const ActivationRows& rows);
  void check_finite(const Target& target) const;

  Settings settings_;
  ShardWriterThread& writer_;
  int last_layer_ = 0;
  const CaptureWindow* window_ = nullptr;
  RowTable rows_;  // of the window
  const CaptureBatch* batch_ = nullptr;
  std::vector<float> means_;  // of the pass
  RowAccumulator accumulator_;
  std::vector<Target> targets_;
  HookSet hooks_;
  std::vector<ScopedHook> registrations_;
};

}  // namespace lime
