// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy_analysis.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "analysis/entropy_report.h"
#include "analysis/provenance.h"
#include "core/errors.h"
#include "core/suggest.h"
#include "core/thread_pool.h"
#include "core/utf8.h"
#include "metrics/entropy/sequence_entropies.h"

namespace lime {
namespace {

/// As summarize() asks, but here the option is called otherwise.
constexpr std::int64_t kFewestResamples = 100;

/// The entropies of one site and layer of one capture.
struct Measured {
  std::string label;
  std::string site;
  int layer = 0;
  SequenceEntropies entropies;
};

/// Progress over all layers of all captures.
struct Counter {
  const ProgressFn& on_progress;
  std::int64_t done = 0;
  std::int64_t total = 0;
};

std::string quoted_path(const CaptureReader& capture) {
  return "'" + capture.path().string() + "'";
}

std::int64_t num_sequences_used(const CaptureReader& capture,
                                const EntropyAnalysisOptions& options) {
  const std::int64_t all = capture.num_sequences();
  return options.max_sequences ? std::min(all, *options.max_sequences) : all;
}

/// Refuses captures whose rows are not whole sequences of tokens.
void check_rows(const CaptureReader& capture, const EntropyAnalysisOptions& options) {
  const CaptureInfo& info = capture.info();
  if (info.rows != RowKind::kTokens) {
    throw InvalidArgument(
        "{}: holds one row per sequence (--rows {}), and entropy needs every token of a sequence; "
        "capture again with --rows tokens",
        quoted_path(capture), enum_name(info.rows));
  }
  if (!info.class_names.empty()) {
    throw InvalidArgument(
        "{}: holds only some tokens ({}), and entropy needs every token of a sequence; capture "
        "again without --only",
        quoted_path(capture), printable(join_words(info.class_names)));
  }
  const std::int64_t count = num_sequences_used(capture, options);
  if (count == 0) throw InvalidArgument("{}: holds no sequences", quoted_path(capture));
  const std::vector<std::int64_t>& offsets = capture.offsets();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t tokens = offsets[at + 1] - offsets[at];
    if (tokens >= 2) continue;
    throw InvalidArgument(
        "{}: sequence {} has {} token{}, and entropy needs at least 2; capture again without it",
        quoted_path(capture), i, tokens, tokens == 1 ? "" : "s");
  }
}

/// Diff-eRank compares the same sequences in two models.
void check_same_sequences(const CaptureReader& a, const CaptureReader& b) {
  if (a.offsets() == b.offsets() && a.rows().token == b.rows().token) return;
  throw InvalidArgument(
      "{} and {}: hold different tokens, and diff-erank compares the same ones in two models; "
      "capture both with the same text and tokenizer",
      quoted_path(a), quoted_path(b));
}

std::optional<Standardization> standardization_of(const CaptureReader& capture,
                                                  const std::string& site, int layer,
                                                  EntropyPreset preset) {
  if (!needs_standardization(preset)) return std::nullopt;
  const RunningStatistics statistics = capture.statistics(site, layer);
  return make_standardization({statistics.count, statistics.mean, statistics.m2});
}

SequenceEntropies measure_layer(const CaptureReader& capture, const std::string& site, int layer,
                                const EntropyAnalysisOptions& options, ThreadPool& pool,
                                Counter& counter, const std::stop_token& stop) {
  const std::vector<std::int64_t>& offsets = capture.offsets();
  const std::int64_t dim = capture.dim(site, layer);
  SequenceSource source;
  source.count = num_sequences_used(capture, options);
  source.read = [&](std::int64_t index, MatrixF& rows) {
    const std::int64_t first = offsets[static_cast<std::size_t>(index)];
    rows.resize(offsets[static_cast<std::size_t>(index) + 1] - first, dim);
    capture.read_rows(site, layer, first, rows.rows(),
                      {rows.data(), static_cast<std::size_t>(rows.size())});
  };
  const auto on_progress = [&](const Progress& progress) {
    if (!counter.on_progress) return;
    counter.on_progress(
        {counter.done + progress.done, counter.total, fmt::format("{}, layer {}", site, layer)});
  };
  SequenceEntropies entropies =
      sequence_entropies(source, standardization_of(capture, site, layer, options.entropy.preset),
                         options.entropy, pool, on_progress, stop);
  counter.done += source.count;
  return entropies;
}

std::vector<Measured> measure_all(const std::vector<ChosenCapture>& captures,
                                  const EntropyAnalysisOptions& options, ThreadPool& pool,
                                  const ProgressFn& on_progress, const std::stop_token& stop) {
  Counter counter{on_progress};
  for (const ChosenCapture& capture : captures) {
    for (const ChosenCapture::Part& part : capture.parts) {
      counter.total += num_sequences_used(capture.reader, options) *
                       static_cast<std::int64_t>(part.layers.size());
    }
  }
  std::vector<Measured> measured;
  for (const ChosenCapture& capture : captures) {
    for (const ChosenCapture::Part& part : capture.parts) {
      for (const int layer : part.layers) {
        const auto where = [&] {
          return fmt::format("{}: site '{}', layer {}", quoted_path(capture.reader), part.site,
                             layer);
        };
        try {
          measured.push_back(
              {capture.label, part.site, layer,
               measure_layer(capture.reader, part.site, layer, options, pool, counter, stop)});
        } catch (const InvalidArgument& error) {
          throw InvalidArgument("{}: {}", where(), error.what());
        } catch (const NumericalError& error) {
          throw NumericalError("{}: {}", where(), error.what());
        } catch (const Interrupted&) {
          throw Interrupted("{}: interrupted here; nothing was written, run it again", where());
        }
      }
    }
  }
  return measured;
}

/// Untrained minus trained, sequence by sequence.
std::vector<Measured> differences(const std::vector<Measured>& measured, const std::string& first,
                                  const std::string& second) {
  std::vector<Measured> result;
  for (const Measured& untrained : measured) {
    if (untrained.label != first) continue;
    const auto trained = std::find_if(measured.begin(), measured.end(), [&](const Measured& other) {
      return other.label == second && other.site == untrained.site &&
             other.layer == untrained.layer;
    });
    if (trained == measured.end()) continue;
    Measured difference = untrained;
    difference.label = fmt::format("{} - {}", first, second);
    difference.entropies.values -= trained->entropies.values;
    if (difference.entropies.lower.size() > 0) {
      difference.entropies.lower -= trained->entropies.upper;
      difference.entropies.upper -= trained->entropies.lower;
    }
    result.push_back(std::move(difference));
  }
  if (result.empty()) {
    throw InvalidArgument("diff-erank: '{}' and '{}' have no site and layer in common", first,
                          second);
  }
  return result;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Mean and smallest of `values` as columns `name` and `name`_min; where all are equal, that value
/// without the rounding of a mean.
template <typename T>
void add_mean_and_min(Json& row, const std::string& name, const std::vector<T>& values) {
  const auto [min, max] = std::ranges::minmax(values);
  if (min == max) {
    row[name] = min;
  } else {
    row[name] = mean_of(std::vector<double>(values.begin(), values.end()));
  }
  row[name + "_min"] = min;
}

Json row_of(const Measured& measured, std::size_t order, const EntropyAnalysisOptions& options,
            const SummaryOptions& summary_options) {
  const SequenceEntropies& entropies = measured.entropies;
  const Summary summary = summarize(entropies.of_order(order), summary_options);
  std::vector<double> ceilings;
  for (const std::int64_t tokens : entropies.num_tokens) {
    ceilings.push_back(entropy_ceiling(tokens, entropies.dim, options.entropy));
  }
  Json row = Json::object();
  row["label"] = measured.label;
  row["site"] = measured.site;
  row["layer"] = measured.layer;
  row["alpha"] = OptionCodec<double>::to_json(entropies.alpha[order]);
  row["preset"] = std::string(enum_name(options.entropy.preset));
  row["unit"] = std::string(entropy_unit(options.entropy));
  row["mean"] = summary.mean;
  row["std"] = summary.std;
  row["ci_low"] = summary.ci_low;
  row["ci_high"] = summary.ci_high;
  row["n"] = summary.n;
  add_mean_and_min(row, "tokens", entropies.num_tokens);
  row["dim"] = entropies.dim;
  add_mean_and_min(row, "ceiling", ceilings);
  if (options.entropy.top_k) {
    const auto column = static_cast<Eigen::Index>(order);
    row["lower"] = entropies.lower.col(column).mean();
    row["upper"] = entropies.upper.col(column).mean();
    row["left_out"] = mean_of(entropies.left_out);
  }
  return row;
}

/// Rows of all orders; the bootstrap of one row does not depend on the others.
std::vector<Json> rows_of(const std::vector<Measured>& measured,
                          const EntropyAnalysisOptions& options, const RunOptions& run,
                          ThreadPool& pool, const std::stop_token& stop) {
  SummaryOptions summary = options.summary;
  summary.seed = run.seed;
  const std::size_t num_orders = options.entropy.orders().size();
  std::vector<Json> rows(measured.size() * num_orders);
  pool.parallel_for(
      static_cast<std::int64_t>(rows.size()),
      [&](std::int64_t i) {
        const auto index = static_cast<std::size_t>(i);
        rows[index] = row_of(measured[index / num_orders], index % num_orders, options, summary);
      },
      stop);
  return rows;
}

}  // namespace

void EntropyAnalysisOptions::describe(OptionList& list) {
  captures.describe(list);
  list.add("max_sequences", max_sequences,
           "only this many sequences, the first ones, of each capture");
  list.group("Entropy");
  entropy.describe(list);
  list.group("Interval");
  list.add("bootstrap", summary.resamples,
           "resamples behind the interval of the mean, >= 100; 0: no interval");
  list.add("confidence", summary.confidence,
           "probability that the interval is meant to cover, in (0, 1)");
}

void EntropyAnalysisOptions::validate() const {
  captures.validate();
  entropy.validate();
  if (summary.resamples != 0 && summary.resamples < kFewestResamples) {
    throw InvalidArgument("bootstrap: must be >= {}, or 0 for no interval, got {}",
                          kFewestResamples, summary.resamples);
  }
  summary.validate();
  if (max_sequences && *max_sequences < 1) {
    throw InvalidArgument("max_sequences: must be > 0, got {}", *max_sequences);
  }
  if (entropy.preset == EntropyPreset::kDiffErank && captures.captures.size() != 2) {
    throw InvalidArgument(
        "diff-erank: compares two captures of the same text, first of the untrained model, then "
        "of the trained one, got {}",
        captures.captures.size());
  }
}

Report analyze_entropy(const EntropyAnalysisOptions& options, const RunOptions& run,
                       const ProgressFn& on_progress, const std::stop_token& stop) {
  options.validate();
  run.validate();
  ThreadPool pool(run.threads);
  Provenance provenance(pool.num_threads());
  const std::vector<ChosenCapture> captures = open_captures(options.captures);
  for (const ChosenCapture& capture : captures) check_rows(capture.reader, options);
  const bool compares = options.entropy.preset == EntropyPreset::kDiffErank;
  if (compares) check_same_sequences(captures[0].reader, captures[1].reader);

  std::vector<Measured> measured = measure_all(captures, options, pool, on_progress, stop);
  if (compares) {
    std::vector<Measured> more = differences(measured, captures[0].label, captures[1].label);
    std::move(more.begin(), more.end(), std::back_inserter(measured));
  }
  Results results;
  results.metric = "entropy";
  results.rows = rows_of(measured, options, run, pool, stop);
  provenance.lap("compute");
  results.inputs = hash_captures(captures, pool, stop);
  provenance.lap("hash_inputs");
  results.options = options_to_json(options);
  results.options["seed"] = run.seed;
  results.provenance = provenance.to_json();
  return make_entropy_report(std::move(results), captures, options);
}

}  // namespace lime
