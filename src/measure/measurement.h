// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/engine/analysis.h"
#include "analysis/engine/capture_rows.h"
#include "core/matrix.h"
#include "core/running_statistics.h"
#include "measure/measure_options.h"

namespace lime {

/// The sequences of a run with measurements, as known before the passes.
struct MeasuredSequences {
  std::string model;                  ///< name of the checkpoint, the default label
  std::vector<std::int64_t> lengths;  ///< tokens of each sequence
  std::int64_t num_attention_heads = 0;
  std::uint64_t seed = 0;
  std::string device = "cpu";

  std::int64_t num_short = 0;  ///< sequences of the run that are not among them
  /// The position among `lengths` of each sequence of the run, -1 for those left out; empty: equal.
  std::vector<std::int64_t> positions = {};

  std::int64_t count() const { return std::ssize(lengths); }
  std::int64_t position(std::int64_t sequence) const {
    return positions.empty() ? sequence : positions[static_cast<std::size_t>(sequence)];
  }
  std::int64_t num_tokens() const;
  std::int64_t longest() const;
  /// Returns first rows of the sequences without their first `skip` tokens, [count + 1].
  std::vector<std::int64_t> offsets(std::int64_t skip) const;
};

/// Measures one layer of one site, batch by batch, in the order of the passes.
///
/// Rows are either all in CPU memory or all on the device of the layer; both ways give the same
/// results up to rounding, and the CPU's are bit-identical for any number of threads. One thread
/// at a time may use an object.
class LayerMeter {
 public:
  LayerMeter() = default;
  virtual ~LayerMeter() = default;
  LayerMeter(const LayerMeter&) = delete;
  LayerMeter& operator=(const LayerMeter&) = delete;

  /// Sets the statistics of all rows before the first of them is added, if
  /// Measurement::needs_statistics().
  virtual void set_statistics(const RunningStatistics& statistics);
  /// Adds a sequence that is in CPU memory, [tokens, dim]; valid during the call.
  /// @throws InvalidArgument  if the measure is not defined for it; names the sequence.
  virtual void add(std::int64_t sequence, const ConstMatrixRef& rows) = 0;
  /// Adds sequences of equal length on a device, [sequences, tokens, dim], in double. Computes
  /// there, and waits for eigenvalues only.
  virtual void add(std::span<const std::int64_t> sequences, const at::Tensor& rows) = 0;
  /// Copies pending results to the CPU and frees the memory that only add() needs.
  virtual void end_batch() {}
  /// Returns the rows and samples of all sequences; call once.
  virtual UnitResult finish(const UnitContext& context) = 0;
};

/// A metric of lime-metrics, computed inside the passes with the same options and results.
class Measurement {
 public:
  Measurement() = default;
  virtual ~Measurement() = default;
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

  /// Returns the site that it alone reads, or nothing if it measures representations.
  virtual std::string_view own_site() const { return {}; }
  virtual bool needs_statistics() const { return false; }
  /// Returns how many tokens at the start of each sequence are omitted.
  virtual std::int64_t skipped_tokens() const { return 0; }
  /// Returns the tokens of the shortest sequence that it can measure; shorter ones are skipped.
  virtual std::int64_t fewest_tokens() const { return kFewestTokens; }
  /// Returns why it cannot run on another device than the CPU; empty if it can.
  virtual std::string_view needs_cpu() const { return {}; }
  /// @throws InvalidArgument  if the sequences are unfit.
  virtual void check(const MeasuredSequences& sequences) const = 0;
  /// Returns the meter of one layer. @param dim  elements of a row
  virtual std::unique_ptr<LayerMeter> meter(const MeasuredSequences& sequences,
                                            std::int64_t dim) const = 0;
  /// Returns the peak memory of a meter in bytes.
  virtual std::int64_t bytes(const MeasuredSequences& sequences, std::int64_t dim) const = 0;
  /// Returns the memory in bytes that each thread on the CPU needs to measure a layer.
  virtual std::int64_t thread_bytes(const MeasuredSequences& sequences, std::int64_t dim) const = 0;
  /// Returns the memory in bytes that LayerMeter::finish() needs in addition.
  virtual std::int64_t finish_bytes(const MeasuredSequences& sequences, std::int64_t dim) const = 0;
  /// Returns metric, options and presentation; the caller sets units and inputs.
  virtual Analysis analysis(const MeasuredSequences& sequences) const = 0;
  /// Returns the name of the model in the results.
  virtual std::string label(const MeasuredSequences& sequences) const = 0;
};

/// Returns `options` and those that the run determines: sites, layers, sequences and device.
std::vector<ReservedOption> with_run_options(std::vector<ReservedOption> options);

std::string label_of(const CaptureSetOptions& options, const MeasuredSequences& sequences);

/// Returns "smollm2: 24 sequences, 12288 tokens, measured during the pass".
std::string describe_sequences(const MeasuredSequences& sequences,
                               const CaptureSetOptions& options);

/// Returns the sequences that `measurement` can measure: those of at least fewest_tokens().
/// @throws InvalidArgument  if there is none.
MeasuredSequences sequences_for(const Measurement& measurement, const MeasuredSequences& all);

/// Refuses sequences with fewer than two tokens after the skipped ones. @throws InvalidArgument
void check_two_tokens(const MeasuredSequences& sequences, std::int64_t skip,
                      std::string_view metric);

/// A metric with the options of its analysis, which has `captures` and `summary`.
template <typename Options> class MeasurementOf : public Measurement {
 public:
  std::int64_t skipped_tokens() const override { return options_.captures.skip_tokens; }
  std::string label(const MeasuredSequences& sequences) const override {
    return label_of(options_.captures, sequences);
  }

 protected:
  /// @param stored_only  options that need stored activations, with the remedy
  MeasurementOf(const MeasureRequest& request, std::uint64_t seed,
                std::vector<ReservedOption> stored_only = {}) {
    assign_options(request, option_fields(options_), with_run_options(std::move(stored_only)));
    options_.summary.seed = seed;
  }

  /// Returns the options as they are stored with results: without files.
  Options stored_options() const {
    Options stored = options_;
    stored.captures.captures.clear();
    return stored;
  }

  Options options_;
};

std::unique_ptr<Measurement> make_entropy_measurement(const MeasureRequest& request,
                                                      std::uint64_t seed);
std::unique_ptr<Measurement> make_geometry_measurement(const MeasureRequest& request,
                                                       std::uint64_t seed);
std::unique_ptr<Measurement> make_attention_measurement(const MeasureRequest& request,
                                                        std::uint64_t seed);
std::unique_ptr<Measurement> make_lens_measurement(const MeasureRequest& request,
                                                   std::uint64_t seed);

/// @throws InvalidArgument  for invalid options, and for those that need stored activations.
std::unique_ptr<Measurement> make_measurement(const MeasureRequest& request, std::uint64_t seed);

}  // namespace lime
