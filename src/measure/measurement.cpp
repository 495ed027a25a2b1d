// SPDX-License-Identifier: Apache-2.0
#include "measure/measurement.h"

#include <algorithm>
#include <numeric>

namespace lime {

std::int64_t MeasuredSequences::num_tokens() const {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

std::int64_t MeasuredSequences::longest() const {
  return lengths.empty() ? 0 : *std::ranges::max_element(lengths);
}

std::vector<std::int64_t> MeasuredSequences::offsets(std::int64_t skip) const {
  std::vector<std::int64_t> offsets = {0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length - skip);
  return offsets;
}

void LayerMeter::set_statistics(const RunningStatistics&) {}

namespace {

constexpr std::string_view kAfterPasses =
    "which rows and dimensions are outliers is known after the passes: store a capture, and use "
    "lime-metrics";

}  // namespace

std::vector<ReservedOption> with_run_options(std::vector<ReservedOption> options) {
  options.insert(options.begin(), {{"layer", "pass --layers to lime-capture"},
                                   {"site", "pass --sites to lime-capture"},
                                   {"max_sequences", "pass --max-sequences to lime-capture"},
                                   {"device", "pass --device to lime-capture"},
                                   {"match_length", "pass --seq-len to lime-capture"},
                                   {"skip_massive", kAfterPasses},
                                   {"skip_dims", kAfterPasses}});
  return options;
}

std::string label_of(const CaptureSetOptions& options, const MeasuredSequences& sequences) {
  return options.label.empty() ? sequences.model : options.label.front();
}

std::string describe_sequences(const MeasuredSequences& sequences,
                               const CaptureSetOptions& options) {
  const std::int64_t skip = options.skip_tokens;
  return fmt::format("{}: {} sequences, {} tokens, measured during the pass{}",
                     label_of(options, sequences), sequences.count(),
                     sequences.num_tokens() - skip * sequences.count(),
                     skip == 0 ? "" : fmt::format(", without the first {} of each sequence", skip));
}

MeasuredSequences sequences_for(const Measurement& measurement, const MeasuredSequences& all) {
  MeasuredSequences used = all;
  used.lengths.clear();
  used.positions.clear();
  for (const std::int64_t length : all.lengths) {
    const bool is_short = length < measurement.fewest_tokens();
    used.positions.push_back(is_short ? -1 : used.count());
    if (!is_short) used.lengths.push_back(length);
  }
  used.num_short = all.count() - used.count();
  throw_if(used.lengths.empty(), OptionName("measure"),
           "all {} sequences have fewer than {} tokens; use longer ones", all.count(),
           measurement.fewest_tokens());
  return used;
}

void check_two_tokens(const MeasuredSequences& sequences, std::int64_t skip,
                      std::string_view metric) {
  for (std::int64_t i = 0; i < sequences.count(); ++i) {
    const std::int64_t tokens = sequences.lengths[static_cast<std::size_t>(i)];
    throw_if(tokens - skip < 2, OptionName("measure"),
             "sequence {} has {} token{}{}, but {} needs at least 2; measure without it", i, tokens,
             tokens == 1 ? "" : "s",
             skip == 0 ? "" : fmt::format(", of which skip-tokens omits {}", skip), metric);
  }
}

std::unique_ptr<Measurement> make_measurement(const MeasureRequest& request, std::uint64_t seed) {
  if (request.metric == "entropy") return make_entropy_measurement(request, seed);
  if (request.metric == "geometry") return make_geometry_measurement(request, seed);
  if (request.metric == "attention") return make_attention_measurement(request, seed);
  return make_lens_measurement(request, seed);
}

}  // namespace lime
