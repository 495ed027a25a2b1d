// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <optional>
#include <utility>

#include "analysis/entropy/entropy_results.h"
#include "measure/device_rows.h"
#include "measure/measurement.h"
#include "metrics/device/batched_eigenvalues.h"
#include "metrics/entropy/entropy_calculator.h"

namespace lime {
namespace {

/// For what is small beside a sequence: spectra, tables.
constexpr std::int64_t kEntropyScratch = std::int64_t{1} << 20;

/// Properties of the Gram matrices of sequences of equal length, on their device.
struct DeviceGrams {
  std::vector<std::int64_t> sequences;
  std::int64_t num_tokens = 0;
  std::int64_t dim = 0;
  at::Tensor traces;         ///< [sequences]
  at::Tensor squared_norms;  ///< [sequences]
  at::Tensor eigenvalues;    ///< [sequences, min(num_tokens, dim)]; undefined if none are needed
  /// [sequences, num_tokens], distances of the tokens from their mean; undefined if the preset does
  /// not divide by them
  at::Tensor distances;
  std::vector<at::Tensor> pooled;  ///< [sequences, dim] of each data set
};

/// Applies the preprocessing of a preset to rows, [sequences, tokens, dim], on their device.
class DevicePreprocessing {
 public:
  DevicePreprocessing(EntropyPreset preset, const std::optional<Standardization>& standardization)
      : preset_(preset) {
    if (!standardization) return;
    mean_ = tensor_of(standardization->mean);
    scale_ = tensor_of(standardization->divisor.cwiseInverse());
  }

  /// @param distances  receives those of the tokens from their mean, if they are divided by them.
  at::Tensor apply(const at::Tensor& rows, at::Tensor& distances) {
    switch (preset_info(preset_).rows) {
      case EntropyRows::kUnchanged: return rows;
      case EntropyRows::kStandardized:
        if (mean_.device() != rows.device()) {
          mean_ = mean_.to(rows.device());
          scale_ = scale_.to(rows.device());
        }
        return (rows - mean_).mul_(scale_);
      case EntropyRows::kCentredToUnit:
      case EntropyRows::kCentredClamped: break;
    }
    at::Tensor centred = rows - rows.mean(1, true);
    distances = centred.square().sum(2).sqrt_();
    return centred.div_(distances.unsqueeze(2));
  }

 private:
  static at::Tensor tensor_of(const VectorD& values) {
    return at::tensor(at::ArrayRef<double>(values.data(), static_cast<std::size_t>(values.size())),
                      at::kDouble);
  }

  EntropyPreset preset_;
  at::Tensor mean_;   ///< [dim]
  at::Tensor scale_;  ///< [dim]
};

class EntropyMeter final : public LayerMeter {
 public:
  EntropyMeter(const EntropyAnalysisOptions& options, std::int64_t count, std::int64_t dim)
      : options_(options) {
    entropies_.alpha = options.entropy.orders();
    entropies_.num_tokens.resize(static_cast<std::size_t>(count));
    entropies_.dim = dim;
    const auto orders = static_cast<Eigen::Index>(entropies_.alpha.size());
    entropies_.values.resize(count, orders);
    if (options.entropy.top_k) {
      entropies_.lower.resize(count, orders);
      entropies_.upper.resize(count, orders);
      entropies_.left_out.resize(static_cast<std::size_t>(count));
    }
    for (const RowKind kind : options.dataset) {
      datasets_.emplace_back(kind, options.entropy.preset, count, dim);
    }
  }

  void set_statistics(const RunningStatistics& statistics) override {
    standardization_ = make_standardization(statistics);
  }

  void add(std::int64_t sequence, const ConstMatrixRef& rows) override {
    if (!calculator_) calculator_.emplace(options_.entropy, standardization_);
    with_sequence("entropy", sequence,
                  [&] { pending_.push_back(calculator_->begin(linalg::affine_rows(rows))); });
    pending_sequences_.push_back(sequence);
    for (DatasetRows& dataset : datasets_) dataset.add(sequence, rows);
    if (std::ssize(pending_) == linalg::kLanes) finish_pending();
  }

  void add(std::span<const std::int64_t> sequences, const at::Tensor& rows) override {
    if (!preprocessing_) preprocessing_.emplace(options_.entropy.preset, standardization_);
    DeviceGrams& grams = grams_.emplace_back();
    grams.sequences.assign(sequences.begin(), sequences.end());
    grams.num_tokens = rows.size(1);
    grams.dim = rows.size(2);
    const at::Tensor z = preprocessing_->apply(rows, grams.distances);
    const at::Tensor transposed = z.transpose(1, 2);
    at::Tensor gram =
        grams.num_tokens <= grams.dim ? at::bmm(z, transposed) : at::bmm(transposed, z);
    grams.traces = gram.diagonal(0, 1, 2).sum(1);
    if (clamps_gram(options_.entropy.preset)) gram.clamp_min_(0.0);
    grams.squared_norms = gram.square().sum({1, 2});
    if (needs_eigenvalues(entropies_.alpha)) {
      grams.eigenvalues = gpu_module::batched_eigenvalues(std::move(gram));
    }
    for (const DatasetRows& dataset : datasets_) {
      const at::Tensor& tokens = preset_info(dataset.preset).pools_preprocessed ? z : rows;
      grams.pooled.push_back(dataset.kind == RowKind::kLast ? tokens.select(1, -1).clone()
                                                            : tokens.mean(1));
    }
  }

  void end_batch() override {
    if (!pending_.empty()) finish_pending();
    calculator_.reset();
    for (const DeviceGrams& grams : grams_) keep(grams);
    grams_.clear();
  }

  UnitResult finish(const UnitContext& context) override {
    UnitResult result = entropy_result(entropies_, options_);
    for (const DatasetRows& dataset : datasets_) {
      add_dataset_rows(dataset.measure(options_.entropy, context.pool), enum_name(dataset.kind),
                       options_, result);
    }
    return result;
  }

 private:
  void finish_pending() {
    const std::vector<SequenceEntropy> finished = calculator_->finish(pending_);
    for (std::size_t i = 0; i < finished.size(); ++i) {
      keep(pending_sequences_[i], pending_[i].num_tokens, finished[i]);
    }
    pending_.clear();
    pending_sequences_.clear();
  }

  void keep(std::int64_t sequence, std::int64_t num_tokens, const SequenceEntropy& entropy) {
    const auto at = static_cast<std::size_t>(sequence);
    entropies_.num_tokens[at] = num_tokens;
    const auto set = [&](MatrixD& table, const std::vector<double>& values) {
      if (table.size() == 0) return;
      for (std::size_t order = 0; order < values.size(); ++order) {
        table(sequence, static_cast<Eigen::Index>(order)) = values[order];
      }
    };
    set(entropies_.values, entropy.values);
    set(entropies_.lower, entropy.lower);
    set(entropies_.upper, entropy.upper);
    if (!entropies_.left_out.empty()) entropies_.left_out[at] = entropy.left_out;
  }

  void keep(const DeviceGrams& grams) {
    check_distances(grams);
    const std::vector<double> traces = to_host(grams.traces);
    const std::vector<double> squared_norms = to_host(grams.squared_norms);
    std::vector<double> eigenvalues;
    if (grams.eigenvalues.defined()) eigenvalues = to_host(grams.eigenvalues);
    const std::size_t size = eigenvalues.size() / traces.size();
    for (std::size_t i = 0; i < traces.size(); ++i) {
      const std::int64_t sequence = grams.sequences[i];
      with_sequence("entropy", sequence, [&] {
        check_trace(traces[i], grams);
        const GramSpectrum gram{grams.num_tokens, grams.dim, traces[i], squared_norms[i],
                                std::span(eigenvalues).subspan(i * size, size)};
        SequenceEntropy entropy;
        entropy.values = entropies_of(gram, options_.entropy);
        for (double& value : entropy.values) {
          value = in_preset_unit(value, grams.num_tokens, grams.dim, options_.entropy);
        }
        keep(sequence, grams.num_tokens, entropy);
      });
    }
    for (std::size_t d = 0; d < datasets_.size(); ++d) keep_pooled(grams, d);
  }

  void keep_pooled(const DeviceGrams& grams, std::size_t dataset) {
    const std::vector<double> rows = to_host(grams.pooled[dataset]);
    for (std::size_t i = 0; i < grams.sequences.size(); ++i) {
      datasets_[dataset].rows.row(grams.sequences[i]) =
          Eigen::Map<const Eigen::RowVectorXd>(
              rows.data() + static_cast<std::int64_t>(i) * grams.dim, grams.dim)
              .cast<float>();
    }
  }

  /// As EntropyPreprocessing.
  void check_distances(const DeviceGrams& grams) const {
    if (!grams.distances.defined()) return;
    const std::vector<double> distances = to_host(grams.distances);
    for (std::size_t i = 0; i < distances.size(); ++i) {
      throw_if(distances[i] == 0.0,
               "entropy: sequence {}: {}: divides every token by its distance from the mean token, "
               "which is 0 for token {}",
               grams.sequences[i / static_cast<std::size_t>(grams.num_tokens)],
               enum_name(options_.entropy.preset), i % static_cast<std::size_t>(grams.num_tokens));
    }
  }

  /// As check_trace() of rows.
  static void check_trace(double trace, const DeviceGrams& grams) {
    throw_if(!std::isfinite(trace),
             "representations must be finite; check the model for overflow, or use a wider "
             "--dtype");
    throw_if(!(trace > 0.0), "representations must not all be zero, got {} x {} zeros",
             grams.num_tokens, grams.dim);
  }

  const EntropyAnalysisOptions& options_;  // of the measurement
  std::optional<Standardization> standardization_;
  SequenceEntropies entropies_;
  std::vector<DatasetRows> datasets_;
  std::optional<EntropyCalculator> calculator_;
  std::vector<PendingEntropy> pending_;
  std::vector<std::int64_t> pending_sequences_;
  std::optional<DevicePreprocessing> preprocessing_;
  std::vector<DeviceGrams> grams_;
};

class EntropyMeasurement final : public MeasurementOf<EntropyAnalysisOptions> {
 public:
  EntropyMeasurement(const MeasureRequest& request, std::uint64_t seed)
      : MeasurementOf(request, seed) {
    throw_if(options_.entropy.preset == EntropyPreset::kDiffErank, OptionName("measure"),
             "the preset diff-erank compares two models; store captures of both, and use "
             "lime-metrics entropy");
    options_.validate();
  }

  bool needs_statistics() const override { return needs_standardization(options_.entropy.preset); }
  std::string_view needs_cpu() const override {
    return options_.entropy.top_k ? "top-k is supported on the CPU only; omit it" : "";
  }

  void check(const MeasuredSequences& sequences) const override {
    check_two_tokens(sequences, skipped_tokens(), "entropy");
    throw_if(!options_.dataset.empty() && sequences.count() < 2, OptionName("measure"),
             "dataset needs at least 2 sequences, got {}", sequences.count());
  }

  std::unique_ptr<LayerMeter> meter(const MeasuredSequences& sequences,
                                    std::int64_t dim) const override {
    return std::make_unique<EntropyMeter>(options_, sequences.count(), dim);
  }

  std::int64_t bytes(const MeasuredSequences& sequences, std::int64_t dim) const override {
    const auto orders = std::ssize(options_.entropy.orders());
    return kEntropyScratch +
           sequences.count() * (orders * 24 + std::ssize(options_.dataset) * dim * 16);
  }

  std::int64_t thread_bytes(const MeasuredSequences& sequences, std::int64_t dim) const override {
    const std::int64_t longest = sequences.longest();
    const std::int64_t smaller = std::min(longest, dim);
    return longest * dim * 12 + smaller * smaller * 24 + kEntropyScratch;
  }

  std::int64_t finish_bytes(const MeasuredSequences& sequences, std::int64_t dim) const override {
    return std::ssize(options_.dataset) * sequences.count() * dim * 16 +
           summary_bytes(1, options_.summary);
  }

  Analysis analysis(const MeasuredSequences& sequences) const override {
    EntropyAnalysisOptions stored = stored_options();
    stored.device = sequences.device;
    Analysis analysis = analysis_of("entropy", stored);
    analysis.present = [options = options_,
                        line = describe_sequences(sequences, options_.captures)](
                           Report& report, std::span<const UnitResult>) {
      fill_entropy_report(report, {line}, options);
    };
    return analysis;
  }
};

}  // namespace

std::unique_ptr<Measurement> make_entropy_measurement(const MeasureRequest& request,
                                                      std::uint64_t seed) {
  return std::make_unique<EntropyMeasurement>(request, seed);
}

}  // namespace lime
