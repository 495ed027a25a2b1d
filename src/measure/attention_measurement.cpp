// SPDX-License-Identifier: Apache-2.0
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "analysis/attention/attention_patterns.h"
#include "analysis/attention/attention_results.h"
#include "measure/device_rows.h"
#include "measure/measurement.h"
#include "metrics/attention/attention_profile.h"

namespace lime {
namespace {

constexpr auto kProfileMeasures = static_cast<Eigen::Index>(kAttentionMeasures.size());

/// Reads attention profiles, a row per query with the measures of each head.
class AttentionMeter final : public LayerMeter {
 public:
  AttentionMeter(const AttentionOptions& options, std::vector<int> heads, std::int64_t count)
      : options_(options), heads_(std::move(heads)), items_(count, std::ssize(heads_)) {}

  void add(std::int64_t sequence, const ConstMatrixRef& rows) override {
    std::vector<MatrixD> profiles;
    for (const int head : heads_) {
      profiles.emplace_back(
          rows.middleCols(head * kProfileMeasures, kProfileMeasures).cast<double>());
    }
    items_.set(sequence, profiles, options_.skip_queries);
  }

  void add(std::span<const std::int64_t> sequences, const at::Tensor& rows) override {
    const std::int64_t tokens = rows.size(1);
    const std::int64_t skipped = options_.skip_queries;
    pending_.push_back({{sequences.begin(), sequences.end()},
                        tokens,
                        rows.narrow(1, skipped, tokens - skipped).mean(1)});
  }

  void end_batch() override {
    for (const Pending& pending : pending_) {
      const std::vector<double> means = to_host(pending.means);
      const std::int64_t width = std::ssize(means) / std::ssize(pending.sequences);
      for (std::size_t i = 0; i < pending.sequences.size(); ++i) {
        const Eigen::Map<const MatrixD> all(means.data() + static_cast<std::int64_t>(i) * width,
                                            width / kProfileMeasures, kProfileMeasures);
        items_.set(pending.sequences[i], all(heads_, Eigen::all), pending.num_tokens,
                   options_.skip_queries);
      }
    }
    pending_.clear();
  }

  UnitResult finish(const UnitContext&) override {
    return attention_result(items_, heads_, options_);
  }

 private:
  struct Pending {
    std::vector<std::int64_t> sequences;
    std::int64_t num_tokens = 0;
    at::Tensor means;  ///< [sequences, heads * measures]
  };

  const AttentionOptions& options_;  // of the measurement
  std::vector<int> heads_;
  AttentionItems items_;
  std::vector<Pending> pending_;
};

constexpr std::string_view kOfOneSequence =
    "it is of one stored sequence: store a capture, and use lime-metrics attention";

class AttentionMeasurement final : public MeasurementOf<AttentionOptions> {
 public:
  AttentionMeasurement(const MeasureRequest& request, std::uint64_t seed)
      : MeasurementOf(request, seed,
                      {{"sequence", kOfOneSequence},
                       {"query", kOfOneSequence},
                       {"checkpoint", kOfOneSequence}}) {
    options_.validate();
  }

  std::string_view own_site() const override { return kProfileSite; }
  std::int64_t fewest_tokens() const override { return 1; }

  void check(const MeasuredSequences& sequences) const override {
    const std::int64_t heads = sequences.num_attention_heads;
    for (const int head : options_.head) {
      throw_if(head >= heads, OptionName("head"), "'{}' has heads 0 to {}, got {}", sequences.model,
               heads - 1, head);
    }
    for (std::int64_t i = 0; i < sequences.count(); ++i) {
      const std::int64_t tokens = sequences.lengths[static_cast<std::size_t>(i)];
      throw_if(tokens <= options_.skip_queries, OptionName("measure"),
               "sequence {} has {} token{}, and skip-queries of attention omits {}; use a "
               "smaller skip-queries, or measure without the sequence",
               i, tokens, tokens == 1 ? "" : "s", options_.skip_queries);
    }
  }

  std::unique_ptr<LayerMeter> meter(const MeasuredSequences& sequences,
                                    std::int64_t) const override {
    return std::make_unique<AttentionMeter>(options_, heads_of(sequences), sequences.count());
  }

  std::int64_t bytes(const MeasuredSequences& sequences, std::int64_t) const override {
    return sequences.count() * sequences.num_attention_heads * kProfileMeasures * 16;
  }

  std::int64_t thread_bytes(const MeasuredSequences& sequences, std::int64_t dim) const override {
    return sequences.longest() * dim * 12;
  }

  std::int64_t finish_bytes(const MeasuredSequences& sequences, std::int64_t) const override {
    return summary_bytes((sequences.num_attention_heads + 1) * (kProfileMeasures + 1),
                         options_.summary);
  }

  Analysis analysis(const MeasuredSequences&) const override {
    Analysis analysis = analysis_of("attention", stored_options());
    analysis.present = [options = options_](Report& report, std::span<const UnitResult>) {
      fill_attention_report(report, options);
    };
    return analysis;
  }

 private:
  std::vector<int> heads_of(const MeasuredSequences& sequences) const {
    const std::set<int> selected(options_.head.begin(), options_.head.end());
    std::vector<int> heads(selected.begin(), selected.end());
    if (!heads.empty()) return heads;
    heads.resize(static_cast<std::size_t>(sequences.num_attention_heads));
    std::iota(heads.begin(), heads.end(), 0);
    return heads;
  }
};

}  // namespace

std::unique_ptr<Measurement> make_attention_measurement(const MeasureRequest& request,
                                                        std::uint64_t seed) {
  return std::make_unique<AttentionMeasurement>(request, seed);
}

}  // namespace lime
