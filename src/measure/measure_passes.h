// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "capture/activation_collector.h"
#include "capture/capture_setup.h"
#include "capture/row_accumulator.h"
#include "capture/scores.h"
#include "capture/shard_writer_thread.h"
#include "core/program/progress.h"
#include "core/threads/thread_pool.h"
#include "measure/device_rows.h"
#include "measure/measurement.h"
#include "model/decoders/decoder.h"

namespace lime {

/// The meters of one site and layer.
struct MeteredPoint {
  struct Entry {
    std::size_t measurement = 0;  ///< index
    std::unique_ptr<LayerMeter> meter;
    const MeasuredSequences* sequences = nullptr;  ///< those that it measures
    std::int64_t skip = 0;                         ///< tokens to omit at the start of each sequence
    bool needs_statistics = false;
  };

  CapturePoint point;
  std::vector<Entry> entries;

  bool needs_statistics() const;
};

struct MeasureLimits {
  int threads = 1;
  /// Maximum size of activations that wait to be measured on the CPU.
  std::int64_t waiting_bytes = 0;
  /// Maximum size of activations that are kept until the statistics are known.
  std::int64_t kept_bytes = 0;
  bool on_device = false;  ///< measure on the device of the layer, with LibTorch
  bool allow_nan = false;
};

/// Runs the passes of a capture and measures their activations.
///
/// Points that need the statistics of all rows accumulate them in the first pass over the input,
/// which keeps the activations of as many batches as `kept_bytes` allows. The other batches run
/// through the model a second time. All others are measured at once. Meters receive sequences in
/// the order of the passes, whatever the limits: on the CPU results are bit-identical for any
/// number of threads and any memory.
///
/// On the CPU, activations are copied, and the threads measure the layers in parallel between
/// passes. On other devices, each is measured there when it is computed.
class MeasurePasses {
 public:
  /// @param points  must outlive this, like the others.
  MeasurePasses(const CaptureSetup& setup, const Decoder& decoder,
                std::vector<MeteredPoint>& points, const MeasureLimits& limits);

  /// @return false if it was stopped.
  bool run(const ProgressFn& on_progress, const std::stop_token& stop);

  std::int64_t num_tokens() const { return progress_.done; }  ///< of both passes
  /// Returns the tokens that went through the model twice.
  std::int64_t repeated_tokens() const { return repeated_tokens_; }

 private:
  /// The rows of a batch at one point: in CPU memory, concatenated, or on a device.
  struct Rows {
    std::size_t point = 0;
    std::shared_ptr<const CaptureBatch> batch;
    std::optional<RowPool::Lease> host = std::nullopt;  ///< [num_tokens, dim]
    at::Tensor device = {};
  };
  /// Statistics of one point, by the number of skipped tokens.
  using HostStatistics = std::map<std::int64_t, RunningStatistics>;
  using DeviceStatisticsBySkip = std::map<std::int64_t, DeviceStatistics>;

  void plan();
  bool pass_over(std::size_t first_batch, const std::vector<std::size_t>& points,
                 const ProgressFn& on_progress, const std::stop_token& stop);
  void receive(std::size_t point, const at::Tensor& activation);
  void receive_on_host(std::size_t point, const at::Tensor& activation);
  void receive_on_device(std::size_t point, const at::Tensor& activation);
  bool collects_statistics(std::size_t point) const;
  void set_statistics();
  void measure(std::vector<Rows> rows);
  void measure_point(const std::vector<const Rows*>& rows);
  void measure_on_device(std::size_t point, const at::Tensor& activation,
                         const CaptureBatch& batch);
  void end_device_batch();

  const CaptureSetup& setup_;
  const Decoder& decoder_;
  std::vector<MeteredPoint>& points_;
  const MeasureLimits limits_;
  std::stop_token stop_;
  ThreadPool pool_;
  RowPool buffers_;
  RowAccumulator accumulator_;
  std::vector<std::shared_ptr<const CaptureBatch>> batches_;  // of all passes
  std::size_t num_kept_ = 0;                                  // batches whose rows are kept
  bool is_second_ = false;                                    // the second pass is running
  std::shared_ptr<const CaptureBatch> batch_;                 // of the running pass
  bool keeps_batch_ = false;
  std::vector<Rows> waiting_;
  std::int64_t waiting_bytes_ = 0;
  std::vector<Rows> kept_;
  std::vector<HostStatistics> host_statistics_;            // of each point
  std::vector<DeviceStatisticsBySkip> device_statistics_;  // of each point
  Progress progress_;
  std::int64_t repeated_tokens_ = 0;
};

}  // namespace lime
