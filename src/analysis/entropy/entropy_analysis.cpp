// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/entropy_analysis.h"

#include "analysis/engine/capture_rows.h"
#include "analysis/entropy/entropy_results.h"
#include "core/program/launcher.h"
#include "metrics/device/gpu.h"
#include "metrics/geometry/layer_geometry.h"

namespace lime {
namespace {

/// Returns a remark if a LIMe's `values` are compared with another decoder's; else empty.
std::string remark_on_values(const std::vector<ChosenCapture>& captures,
                             const EntropyOptions& options) {
  if (options.preset != EntropyPreset::kLimeCode) return "";
  std::string routed;
  bool has_plain = false;
  for (const ChosenCapture& capture : captures) {
    const bool shows_values = std::ranges::find(capture.parts, "values",
                                                &ChosenCapture::Part::site) != capture.parts.end();
    if (!shows_values) continue;
    if (reads_other_values(capture.reader)) {
      routed += (routed.empty() ? "'" : ", '") + capture.label + "'";
    } else {
      has_plain = true;
    }
  }
  if (routed.empty() || !has_plain) return "";
  return fmt::format(
      "values of {} are the output of W_V, not the values its attention reads; the LIMe code "
      "measures the latter, available with --site {}",
      routed, kPaperSite);
}

/// For what is small beside a sequence: chunks of the file, spectra, tables.
constexpr std::int64_t kWorkspaceBytes = std::int64_t{4} << 20;

/// Returns the statistics of the whole capture, without skipped tokens.
std::optional<Standardization> standardization_of(const CaptureReader& capture,
                                                  const LayerPlace& place, EntropyPreset preset,
                                                  const UnitContext& context) {
  if (!needs_standardization(preset)) return std::nullopt;
  if (!capture.hides_anything()) {
    return make_standardization(capture.statistics(place.site, place.layer));
  }
  return make_standardization(
      statistics_of_rows(token_sequences(capture, place.site, place.layer, capture.num_sequences()),
                         context.pool, context.stop));
}

struct Shared {
  EntropyAnalysisOptions options;  ///< with the seed of the interval
  std::vector<ChosenCapture> captures;
  std::optional<Gpu> gpu;
};

/// Adds the host's memory: per thread the rows of a sequence in float and double and the work on
/// the smaller Gram matrix, or with a GPU the rows and the copy that it reads, and for its batches
/// means, scales and spectra.
void add_bytes(const Shared& shared, const ChosenCapture& capture, std::int64_t dim, Unit& unit) {
  const std::int64_t longest = longest_sequence(capture.reader, capture.num_sequences);
  const std::int64_t smaller = std::min(longest, dim);
  if (shared.gpu) {
    const std::int64_t batch = std::min(gpu_batch_size(longest, dim), capture.num_sequences);
    unit.bytes_per_thread = longest * dim * 8 + kWorkspaceBytes;
    unit.bytes += batch * (48 * dim + 24 * longest + 8 * smaller);
  } else {
    unit.bytes_per_thread = longest * dim * 12 + smaller * smaller * 24 + kWorkspaceBytes;
  }
}

/// Entropies of the sequences of one layer, read when their turn comes.
SequenceEntropies measure_layer(const Shared& shared, const LayerPlace& place,
                                const UnitContext& context, std::vector<DatasetRows>& datasets) {
  const EntropyAnalysisOptions& options = shared.options;
  const ChosenCapture& capture = shared.captures[place.capture];
  const std::optional<Standardization> standardization =
      standardization_of(capture.reader, place, options.entropy.preset, context);
  const std::int64_t count = capture.num_sequences;
  const std::int64_t dim = capture.reader.dim(place.site, place.layer);
  const SequenceSource stored = token_sequences(capture.reader, place.site, place.layer, count);
  for (const RowKind kind : options.dataset) {
    datasets.emplace_back(kind, options.entropy.preset, count, dim);
  }
  const SequenceSource sequences{count, [&](std::int64_t index, MatrixF& rows) {
                                   stored.read(index, rows);
                                   for (DatasetRows& dataset : datasets) dataset.add(index, rows);
                                 }};
  if (shared.gpu) {
    const std::int64_t longest = longest_sequence(capture.reader, count);
    return gpu_entropies(*shared.gpu, sequences, standardization, options.entropy,
                         gpu_batch_size(longest, dim), context.pool, context.on_progress,
                         context.stop);
  }
  return sequence_entropies(sequences, standardization, options.entropy, context.pool,
                            context.on_progress, context.stop);
}

void complete_unit(Unit& unit, const std::shared_ptr<const Shared>& shared,
                   const LayerPlace& place) {
  const ChosenCapture& capture = shared->captures[place.capture];
  unit.identity = capture.identity;
  unit.work = capture.num_sequences;
  const std::int64_t dim = capture.reader.dim(place.site, place.layer);
  add_bytes(*shared, capture, dim, unit);
  unit.bytes += std::ssize(shared->options.dataset) * unit.work * dim * 16;
  unit.bytes += summary_bytes(1, shared->options.summary);
  unit.measure = [shared, place](const UnitContext& context) {
    std::vector<DatasetRows> datasets;
    UnitResult result =
        entropy_result(measure_layer(*shared, place, context, datasets), shared->options);
    for (const DatasetRows& dataset : datasets) {
      add_dataset_rows(dataset.measure(shared->options.entropy, context.pool),
                       enum_name(dataset.kind), shared->options, result);
    }
    return result;
  };
}

}  // namespace

void EntropyAnalysisOptions::describe(OptionList& list) {
  captures.describe(list);
  captures.describe_skip(list);
  captures.describe_max_sequences(list);
  list.add("dataset", dataset,
           "also compute the entropy of the data set: of one matrix whose rows are the mean tokens "
           "or the last tokens of all sequences, or both");
  list.group("Entropy");
  entropy.describe(list);
  summary.describe(list);
  list.group("Running");
  list.add("device", device, "device for Gram matrices and eigenvalues: cpu, cuda or cuda:N");
}

void EntropyAnalysisOptions::validate() const {
  captures.validate();
  entropy.validate();
  summary.validate("bootstrap");
  for (const RowKind rows : dataset) {
    throw_if(rows == RowKind::kTokens, OptionName("dataset"),
             "must be mean, last or both, got tokens");
    throw_if(entropy.preset == EntropyPreset::kDiffErank, OptionName("dataset"),
             "is not supported by the preset diff-erank; omit --dataset");
  }
  throw_if(DeviceName::parse(device).is_gpu && entropy.top_k, OptionName("top_k"),
           "is supported on the CPU only, got device '{}'; omit --top-k or --device", device);
  throw_if(
      entropy.preset == EntropyPreset::kDiffErank && captures.captures.size() != 2,
      "diff-erank: expected two captures of the same text, the untrained model first, then the "
      "trained one, got {}",
      captures.captures.size());
}

Analysis prepare_entropy(const EntropyAnalysisOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<Shared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->captures = open_captures(options.captures);
  for (ChosenCapture& capture : shared->captures) {
    skip_short_sequences(capture, "entropy");
    throw_if(!options.dataset.empty() && capture.num_sequences < 2, OptionName("dataset"),
             "needs at least 2 sequences, {} has {}", quoted_path(capture.reader),
             capture.num_sequences);
  }
  const DeviceName device = DeviceName::parse(options.device);
  if (device.is_gpu) {
    const std::optional<LaunchPlace> place = launch_place();
    shared->gpu.emplace(device, place ? place->local_rank : 0);
  }
  Analysis analysis = analysis_of("entropy", options, shared->captures);
  if (shared->gpu) analysis.device = shared->gpu->name();
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    complete_unit(unit, shared, place);
  });
  analysis.threads = UnitThreads::kInside;
  if (options.entropy.preset == EntropyPreset::kDiffErank) {
    check_same_tokens(shared->captures[0].reader, shared->captures[1].reader,
                      "diff-erank compares the same tokens in two models; capture both with the "
                      "same text and tokenizer");
    std::vector<ResultRow> keys;
    for (const Unit& unit : analysis.units) keys.push_back(unit.key);
    analysis.more_rows = [shared, keys](std::span<const UnitResult> results) {
      return entropy_differences(shared->captures[0].label, shared->captures[1].label, keys,
                                 results, shared->options);
    };
  }
  analysis.present = [shared](Report& report, auto) {
    std::vector<std::string> inputs;
    for (const ChosenCapture& capture : shared->captures) {
      inputs.push_back(describe_sequences(capture));
    }
    fill_entropy_report(report, inputs, shared->options);
    std::string remark = remark_on_values(shared->captures, shared->options.entropy);
    if (!remark.empty()) report.remarks.push_back(std::move(remark));
  };
  return analysis;
}

}  // namespace lime
