// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/analysis.h"

#include <cmath>

#include "analysis/engine/outlier_rows.h"

namespace lime {
namespace {

void set_columns(ResultRow& row, const Summary& summary, bool is_difference) {
  if (is_difference) {
    row.add({{col::kDifference, summary.mean},
             {col::kDifference.low, summary.ci_low},
             {col::kDifference.high, summary.ci_high}});
  } else {
    set_summary(row, summary);
  }
}

}  // namespace

Unit layer_unit(const ChosenCapture& capture, const std::string& site, int layer) {
  Unit unit;
  unit.key.set(col::kLabel, capture.label);
  unit.key.set(col::kSite, site);
  unit.key.set(col::kLayer, layer);
  unit.where =
      fmt::format("'{}': site '{}', layer {}", capture.reader.path().string(), site, layer);
  return unit;
}

std::vector<Unit> layer_units(std::span<const ChosenCapture> captures,
                              const std::function<void(Unit&, const LayerPlace&)>& complete) {
  std::vector<Unit> units;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    for (const auto& [site, layers] : captures[i].parts) {
      for (const int layer : layers) {
        complete(units.emplace_back(layer_unit(captures[i], site, layer)), {i, site, layer});
      }
    }
  }
  return units;
}

UnitThreads threads_for(std::span<const Unit> units, const RunOptions& run) {
  return std::ssize(units) >= run.num_threads() ? UnitThreads::kAcross : UnitThreads::kInside;
}

std::vector<std::string> notes_on_rows(std::span<const ChosenCapture> captures) {
  std::vector<std::string> notes;
  for (const ChosenCapture& capture : captures) {
    notes.insert(notes.end(), capture.notes.begin(), capture.notes.end());
  }
  for (std::string& note : notes_on_massive_rows(captures)) notes.push_back(std::move(note));
  return notes;
}

std::string interval_legend(const SummaryOptions& options) {
  if (options.resamples == 0) return "";
  return fmt::format(", [{:g}% bootstrap interval of the mean]", options.confidence * 100.0);
}

void check_jackknife(std::int64_t blocks) {
  check_option(blocks == 0 || blocks >= kFewestBlocks, "jackknife",
               fmt::format(">= {}, or 0 for none", kFewestBlocks), blocks);
}

std::optional<Jackknife> jackknife_of_defined(double all, const std::vector<double>& without,
                                              double confidence) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (without.empty() || !is_finite(all) || !std::ranges::all_of(without, is_finite)) {
    return std::nullopt;
  }
  return jackknife(all, without, confidence);
}

void set_summary(ResultRow& row, const Summary& summary) {
  row.add({{col::kMean, summary.mean},
           {col::kStd, summary.std},
           {col::kCiLow, summary.ci_low},
           {col::kCiHigh, summary.ci_high},
           {col::kN, summary.n}});
}

void RowSummaries::add_mean(ResultRow& row, std::size_t place, std::vector<double> values) {
  set_columns(row, {}, false);
  entries_.push_back({place, false, std::move(values)});
}

void RowSummaries::add_difference(ResultRow& row, std::size_t place,
                                  const std::vector<double>& values,
                                  const std::vector<double>& reference) {
  set_columns(row, {}, true);
  Entry entry{place, true, {}};
  for (std::size_t i = 0; i < values.size(); ++i) entry.values.push_back(values[i] - reference[i]);
  entries_.push_back(std::move(entry));
}

void RowSummaries::fill(std::vector<ResultRow>& rows) const {
  std::map<std::size_t, std::vector<const Entry*>> by_size;
  for (const Entry& entry : entries_) by_size[entry.values.size()].push_back(&entry);
  for (const auto& [size, entries] : by_size) {
    std::vector<std::vector<double>> samples;
    for (const Entry* entry : entries) samples.push_back(entry->values);
    const std::vector<Summary> summaries = summarize_together(samples, options_);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      set_columns(rows[entries[i]->place], summaries[i], entries[i]->is_difference);
    }
  }
}

}  // namespace lime
