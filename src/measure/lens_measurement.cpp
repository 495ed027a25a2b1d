// SPDX-License-Identifier: Apache-2.0
#include "analysis/lens/lens_results.h"
#include "measure/device_rows.h"
#include "measure/measurement.h"

namespace lime {
namespace {

/// Reads the logit lens, a row of measures per token. It has little data, which the passes put into
/// CPU memory.
class LensMeter final : public LayerMeter {
 public:
  LensMeter(const LensOptions& options, std::int64_t count) : options_(options), items_(count) {}

  void add(std::int64_t sequence, const ConstMatrixRef& rows) override {
    items_.set(sequence, rows.topRows(rows.rows() - 1).cast<double>());
  }

  void add(std::span<const std::int64_t> sequences, const at::Tensor& rows) override {
    const std::vector<double> values = to_host(rows);
    const std::int64_t tokens = rows.size(1);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const Eigen::Map<const MatrixD> all(
          values.data() + static_cast<std::int64_t>(i) * tokens * rows.size(2), tokens,
          rows.size(2));
      items_.set(sequences[i], all.topRows(tokens - 1));
    }
  }

  UnitResult finish(const UnitContext&) override {
    return lens_result(std::move(items_), options_.summary);
  }

 private:
  const LensOptions& options_;  // of the measurement
  LensItems items_;
};

constexpr std::string_view kFitted =
    "the tuned lens is fitted to stored activations: store a capture, and use lime-metrics lens";

class LensMeasurement final : public MeasurementOf<LensOptions> {
 public:
  LensMeasurement(const MeasureRequest& request, std::uint64_t seed)
      : MeasurementOf(request, seed, {{"tuned", kFitted}, {"ridge", kFitted}}) {
    options_.validate();
  }

  std::string_view own_site() const override { return kLensSite; }

  void check(const MeasuredSequences& sequences) const override {
    check_two_tokens(sequences, skipped_tokens(), "the logit lens");
  }

  std::unique_ptr<LayerMeter> meter(const MeasuredSequences& sequences,
                                    std::int64_t) const override {
    return std::make_unique<LensMeter>(options_, sequences.count());
  }

  std::int64_t bytes(const MeasuredSequences& sequences, std::int64_t) const override {
    return sequences.count() * kNumLensMeasures * 16;
  }

  std::int64_t thread_bytes(const MeasuredSequences& sequences, std::int64_t dim) const override {
    return sequences.longest() * dim * 12;
  }

  std::int64_t finish_bytes(const MeasuredSequences&, std::int64_t) const override {
    return summary_bytes(kNumLensMeasures, options_.summary);
  }

  Analysis analysis(const MeasuredSequences& sequences) const override {
    Analysis analysis = analysis_of("lens", stored_options());
    analysis.present = [options = options_,
                        line = describe_sequences(sequences, options_.captures)](
                           Report& report, std::span<const UnitResult>) {
      fill_lens_report(report, {line}, options.summary);
    };
    return analysis;
  }
};

}  // namespace

std::unique_ptr<Measurement> make_lens_measurement(const MeasureRequest& request,
                                                   std::uint64_t seed) {
  return std::make_unique<LensMeasurement>(request, seed);
}

}  // namespace lime
