// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/Tensor.h>

#include <optional>

#include "analysis/geometry/geometry_analysis.h"
#include "analysis/geometry/geometry_results.h"
#include "measure/device_geometry.h"
#include "measure/measurement.h"
#include "metrics/geometry/geometry_meter.h"

namespace lime {
namespace {

/// Bytes of the measures of a sequence.
constexpr std::int64_t kSequenceBytes = 512;

/// What the meters of all layers share.
struct GeometrySetup {
  GeometryAnalysisOptions options;
  LayerGeometryOptions layer;
  std::vector<std::int64_t> offsets;
};

class GeometryLayerMeter final : public LayerMeter {
 public:
  GeometryLayerMeter(const std::shared_ptr<const GeometrySetup>& setup, std::int64_t dim)
      : setup_(setup), centre_(VectorD::Zero(dim)) {}

  void set_statistics(const RunningStatistics& statistics) override { centre_ = statistics.mean; }

  void add(std::int64_t sequence, const ConstMatrixRef& rows) override {
    if (!meter_) {
      meter_.emplace(setup_->offsets, centre_, setup_->layer);
      group_ = meter_->start_group();
    }
    if (!spectrum_) spectrum_.emplace(meter_->sequence_spectrum());
    meter_->add(sequence, rows, *spectrum_, group_);
  }

  void add(std::span<const std::int64_t> sequences, const at::Tensor& rows) override {
    if (!device_) device_.emplace(setup_->offsets, centre_, setup_->layer);
    device_->add(sequences, rows);
  }

  void end_batch() override {
    group_.release_scratch();
    spectrum_.reset();
    if (device_) device_->end_batch();
  }

  UnitResult finish(const UnitContext& context) override {
    MeasuredLayer measured;
    if (device_) {
      measured.geometry = device_->finish();
    } else {
      std::vector<GeometryMeter::Group> groups;
      groups.push_back(std::move(group_));
      measured.geometry = meter_->finish(std::move(groups));
    }
    if (setup_->options.wants(GeometryGroup::kDimension)) {
      measured.dimension = intrinsic_dimension(measured.geometry.sample, setup_->options.dimension,
                                               context.pool, context.stop);
    }
    return geometry_result(measured, {}, setup_->options);
  }

 private:
  std::shared_ptr<const GeometrySetup> setup_;
  VectorD centre_;
  std::optional<GeometryMeter> meter_;
  GeometryMeter::Group group_;
  std::optional<SpectrumMeter> spectrum_;
  std::optional<DeviceGeometry> device_;
};

class GeometryMeasurement final : public MeasurementOf<GeometryAnalysisOptions> {
 public:
  GeometryMeasurement(const MeasureRequest& request, std::uint64_t seed)
      : MeasurementOf(request, seed,
                      {{"jackknife",
                        "it measures the rows several times: store a capture, and use "
                        "lime-metrics geometry"}}),
        seed_(seed) {
    throw_if(options_.wants(GeometryGroup::kViews), OptionName("measure"),
             "geometry of views needs stored sequences: store a capture, and use "
             "lime-metrics geometry");
    options_.validate();
  }

  bool needs_statistics() const override {
    const LayerGeometryOptions layer = layer_geometry_options(options_, {});
    return layer.similarity || layer.spectrum_of_rows;
  }

  void check(const MeasuredSequences& sequences) const override {
    check_two_tokens(sequences, skipped_tokens(), "geometry");
    const std::int64_t rows = sequences.offsets(skipped_tokens()).back();
    throw_if(!options_.measure.empty() && options_.wants(GeometryGroup::kDimension) &&
                 rows <= options_.dimension.num_neighbors,
             OptionName("measure"), "k must be < {}, the number of rows, got {}", rows,
             options_.dimension.num_neighbors);
  }

  std::unique_ptr<LayerMeter> meter(const MeasuredSequences& sequences,
                                    std::int64_t dim) const override {
    if (!setup_) setup_ = set_up(sequences);
    return std::make_unique<GeometryLayerMeter>(setup_, dim);
  }

  std::int64_t bytes(const MeasuredSequences& sequences, std::int64_t dim) const override {
    const LayerGeometryOptions layer = layer_geometry_options(options_, {});
    const std::int64_t rows = sequences.offsets(skipped_tokens()).back();
    std::int64_t bytes = sequences.count() * (kSequenceBytes + 8);
    if (layer.spectrum_of_rows) bytes += dim * dim * 8;
    if (options_.wants(GeometryGroup::kDimension)) {
      bytes += std::min(rows, options_.neighbor_rows) * dim * 4;
    }
    return bytes;
  }

  std::int64_t thread_bytes(const MeasuredSequences& sequences, std::int64_t dim) const override {
    const LayerGeometryOptions layer = layer_geometry_options(options_, {});
    const std::int64_t smaller = std::min(sequences.longest(), dim);
    return (layer.spectrum_of_rows ? moment_scratch_bytes(sequences.longest(), dim) : 0) +
           (layer.spectrum_of_sequences ? smaller * smaller * 40 : 0);
  }

  std::int64_t finish_bytes(const MeasuredSequences& sequences, std::int64_t dim) const override {
    const std::int64_t rows = sequences.offsets(skipped_tokens()).back();
    std::int64_t bytes = summary_bytes(16, options_.summary);
    if (layer_geometry_options(options_, {}).spectrum_of_rows) bytes += dim * dim * 4 * 6;
    if (options_.wants(GeometryGroup::kDimension)) {
      bytes += std::min(rows, options_.neighbor_rows) * dim * 20;
    }
    return bytes;
  }

  Analysis analysis(const MeasuredSequences& sequences) const override {
    Analysis analysis = analysis_of("geometry", stored_options());
    analysis.present = [options = options_,
                        line = describe_sequences(sequences, options_.captures)](
                           Report& report, std::span<const UnitResult>) {
      fill_geometry_report(report, {line}, options);
    };
    return analysis;
  }

 private:
  std::shared_ptr<const GeometrySetup> set_up(const MeasuredSequences& sequences) const {
    auto setup = std::make_shared<GeometrySetup>();
    setup->options = options_;
    setup->offsets = sequences.offsets(skipped_tokens());
    std::vector<std::int64_t> neighbors;
    if (options_.wants(GeometryGroup::kDimension)) {
      neighbors = draw_rows(setup->offsets.back(), options_.neighbor_rows, seed_);
    }
    setup->layer = layer_geometry_options(options_, neighbors);
    return setup;
  }

  std::uint64_t seed_;
  mutable std::shared_ptr<const GeometrySetup> setup_;  // of the first meter
};

}  // namespace

std::unique_ptr<Measurement> make_geometry_measurement(const MeasureRequest& request,
                                                       std::uint64_t seed) {
  return std::make_unique<GeometryMeasurement>(request, seed);
}

}  // namespace lime
