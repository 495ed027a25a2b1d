// SPDX-License-Identifier: Apache-2.0
#include "analysis/similarity/similarity_analysis.h"

#include <cmath>

#include "analysis/engine/capture_rows.h"
#include "analysis/engine/row_summaries.h"
#include "analysis/geometry/geometry_analysis.h"
#include "analysis/similarity/similarity_map.h"

namespace lime {
namespace {

constexpr std::int64_t kMaxBlocks = 8;

std::string block_heading(const RowPointers& rows) {
  const ResultRow& row = *rows.front();
  const std::string& label = row.text(col::kLabel);
  const std::string& other = row.text(col::kOtherLabel);
  const std::string& site = row.text(col::kSite);
  if (label == other) return fmt::format("{}, {}: layers against layers", label, site);
  return fmt::format("{}: layers of {} (rows) against layers of {} (columns)", site, label, other);
}

/// Whether layers are numbered 0, 1, 2, ..., as the lines of a TextMap are.
bool counts_from_zero(const std::vector<ResultCell>& layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i] != ResultCell(i)) return false;
  }
  return true;
}

/// Maps in percent; empty where the layers are not all there.
std::vector<ReportPart> maps_of(const Results& results, const TableLayout& layout) {
  const Pivot pivot = pivot_results(results, layout);
  std::vector<ReportPart> maps;
  for (const PivotBlock& block : pivot.blocks) {
    if (!counts_from_zero(block.lines) || !counts_from_zero(pivot.series)) return {};
    MatrixD map = MatrixD::Constant(static_cast<Eigen::Index>(block.lines.size()),
                                    static_cast<Eigen::Index>(pivot.series.size()), NAN);
    for (Eigen::Index r = 0; r < map.rows(); ++r) {
      for (Eigen::Index c = 0; c < map.cols(); ++c) {
        const ResultRow* const row =
            block.cells[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
        if (row != nullptr) map(r, c) = row->number(layout.value);
      }
    }
    maps.push_back({TextMap{block.heading + ", percent", std::move(map)}});
  }
  return maps;
}

/// Returns the layers between which rows turn least, for blocks of 1, 2, ... layers: "2 to 3
/// (0.051), 2 to 4 (0.080)"; empty if angles were not measured.
std::string least_changes(const Results& results, const std::string& label,
                          const std::string& site) {
  std::map<std::int64_t, const ResultRow*> least;
  for (const ResultRow& row : results.rows) {
    if (!row.has(col::kAngle) || row.text(col::kLabel) != label || row.text(col::kSite) != site ||
        row.text(col::kOtherLabel) != label || !std::isfinite(row.number(col::kAngle))) {
      continue;
    }
    const std::int64_t count = row.integer(col::kOtherLayer) - row.integer(col::kLayer);
    if (count < 1) continue;
    const ResultRow*& best = least[count];
    if (best == nullptr || row.number(col::kAngle) < best->number(col::kAngle)) best = &row;
  }
  std::string text;
  for (const auto& [count, row] : least) {
    if (count > kMaxBlocks) break;
    text += fmt::format("{}{} to {} ({:.3f})", text.empty() ? "" : ", ", row->integer(col::kLayer),
                        row->integer(col::kOtherLayer), row->number(col::kAngle));
  }
  return text;
}

constexpr std::int64_t kFewestRows = 4;

std::vector<MapPlan> plan_maps(const std::vector<ChosenCapture>& captures, SimilarityMaps maps) {
  std::vector<MapPlan> plans;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    for (std::size_t j = i; j < captures.size(); ++j) {
      if (maps == (i == j ? SimilarityMaps::kBetween : SimilarityMaps::kWithin)) continue;
      if (i != j) {
        check_same_tokens(captures[i].reader, captures[j].reader,
                          "layers are compared token by token; capture both with the same text "
                          "and tokenizer, or use --maps within");
      }
      for (const auto& [site, layers] : captures[i].parts) {
        for (const auto& [other_site, other_layers] : captures[j].parts) {
          if (site == other_site) plans.push_back({i, j, site, layers, other_layers});
        }
      }
    }
  }
  std::ranges::stable_partition(plans, &MapPlan::is_within);
  throw_if(plans.empty(), OptionName("maps"),
           "the captures have no site in common; select others with --site");
  return plans;
}

Unit make_unit(const std::shared_ptr<const SimilarityTask>& shared, const MapPlan& plan) {
  const ChosenCapture& first = shared->captures[plan.first];
  const ChosenCapture& second = shared->captures[plan.second];
  Unit unit;
  unit.key = {
      {col::kLabel, first.label}, {col::kOtherLabel, second.label}, {col::kSite, plan.site}};
  unit.where = plan.is_within() ? fmt::format("{}: site '{}'", quoted_path(first.reader), plan.site)
                                : fmt::format("{} and {}: site '{}'", quoted_path(first.reader),
                                              quoted_path(second.reader), plan.site);
  unit.work = std::ssize(pairs_of(plan)) * (1 + shared->options.jackknife);
  unit.identity = first.identity;
  set_bytes(unit, *shared, plan);
  unit.measure = [shared, plan](const UnitContext& context) {
    return measure_map(*shared, plan, context);
  };
  return unit;
}

void fill_report(Report& report, const std::vector<ChosenCapture>& captures,
                 const SimilarityAnalysisOptions& options) {
  report.layout.block = {col::kLabel, col::kOtherLabel, col::kSite};
  report.layout.series = col::kOtherLayer;
  report.layout.value = info_of(options.shown()).value;
  report.layout.spread = {};
  report.layout.hide_interval();
  report.layout.ceiling = {};
  report.layout.digits = 2;
  report.layout.heading = block_heading;
  for (const ChosenCapture& capture : captures) {
    const std::int64_t rows = capture.reader.num_rows();
    report.notes.push_back(fmt::format("{}: {} of {} rows, captured by {}", capture.label,
                                       std::min(rows, options.max_rows), rows,
                                       capture.reader.info().tool));
    for (const ChosenCapture::Part& part : capture.parts) {
      const std::string least = least_changes(report.results, capture.label, part.site);
      if (least.empty()) continue;
      report.notes.push_back(fmt::format("{}, {}: smallest angle across n = 1, 2, ... layers: {}",
                                         capture.label, part.site, least));
    }
  }
  report.legend = fmt::format("cells: {}", info_of(options.shown()).meaning);
  if (options.shown() != SimilarityMeasure::kProcrustes && !report.results.rows.empty() &&
      !maps_of(report.results, report.layout).empty()) {
    report.parts = [layout = report.layout](const Results& shown) {
      std::vector<ReportPart> parts = maps_of(shown, layout);
      parts.push_back({pivot_table(shown, layout), ShownIn::kPaper});
      return parts;
    };
  }
}

}  // namespace

void SimilarityAnalysisOptions::describe(OptionList& list) {
  captures.describe(list);
  captures.describe_skip(list);
  list.group("Similarity");
  list.add("maps", maps,
           "compare layers within each capture (within), between each pair of captures (between), "
           "or all");
  list.add("measure", measure, "groups of measures; default: all except neighbors");
  list.add("k", k, "nearest neighbours whose overlap is measured, >= 1");
  list.add("show", show,
           "measure of the printed maps; files contain all; default: cka-debiased, or the first "
           "that is computed");
  list.add("max_rows", max_rows, "rows drawn at random for the comparison of layers, >= 4");
  list.add("jackknife", jackknife,
           "jackknife blocks of sequences, for intervals and for --compare, >= 5; 0: none");
  list.add("confidence", confidence, "confidence level of these intervals, in (0, 1)");
}

bool SimilarityAnalysisOptions::wants(SimilarityGroup group) const {
  if (measure.empty()) return group != SimilarityGroup::kNeighbors;
  return std::ranges::find(measure, group) != measure.end();
}

SimilarityMeasure SimilarityAnalysisOptions::shown() const {
  if (show) return *show;
  if (wants(SimilarityGroup::kCka)) return SimilarityMeasure::kCkaDebiased;
  if (wants(SimilarityGroup::kProcrustes)) return SimilarityMeasure::kProcrustes;
  return wants(SimilarityGroup::kChange) ? SimilarityMeasure::kInfluence
                                         : SimilarityMeasure::kMutualKnn;
}

void SimilarityAnalysisOptions::validate() const {
  captures.validate();
  if (const SimilarityGroup group = info_of(shown()).group; !wants(group)) {
    throw InvalidArgument(OptionName("show"), "'{}' is not computed; add {} to --measure",
                          enum_name(shown()), enum_name(group));
  }
  check_option(k >= 1, "k", ">= 1", k);
  check_option(max_rows >= kFewestRows, "max_rows", fmt::format(">= {}", kFewestRows), max_rows);
  check_jackknife(jackknife);
  check_option(confidence > 0.0 && confidence < 1.0, "confidence", "in (0, 1)", confidence);
  throw_if(maps == SimilarityMaps::kBetween && captures.captures.size() < 2, OptionName("maps"),
           "between requires at least two captures, got {}", captures.captures.size());
}

std::shared_ptr<SimilarityTask> open_similarity(const SimilarityAnalysisOptions& options,
                                                std::uint64_t seed) {
  options.validate();
  auto shared = std::make_shared<SimilarityTask>();
  shared->options = options;
  shared->captures = open_captures(options.captures);
  for (const ChosenCapture& capture : shared->captures) {
    const std::int64_t num_rows = capture.reader.num_rows();
    throw_if(num_rows < kFewestRows,
             "{}: contains {} rows, but the comparison of layers needs at least {}",
             quoted_path(capture.reader), num_rows, kFewestRows);
    throw_if(options.wants(SimilarityGroup::kNeighbors) &&
                 options.k >= std::min(num_rows, options.max_rows),
             OptionName("k"), "must be < {}, the number of rows of {}, got {}",
             std::min(num_rows, options.max_rows), quoted_path(capture.reader), options.k);
    const std::int64_t num_sequences = capture.reader.num_sequences();
    throw_if(options.jackknife > num_sequences, OptionName("jackknife"),
             "must be <= {}, the number of sequences of {}, got {}", num_sequences,
             quoted_path(capture.reader), options.jackknife);
    shared->rows.push_back(draw_rows(num_rows, options.max_rows, seed));
  }
  return shared;
}

Analysis prepare_similarity(const SimilarityAnalysisOptions& options, const RunOptions& run) {
  const std::shared_ptr<const SimilarityTask> shared = open_similarity(options, run.seed);
  Analysis analysis = analysis_of("similarity", options, shared->captures);
  for (const MapPlan& plan : plan_maps(shared->captures, options.maps)) {
    analysis.units.push_back(make_unit(shared, plan));
  }
  if (options.jackknife == 0) {
    analysis.lacks_items = "maps have no values per item; add --jackknife 10";
  } else if (options.maps == SimilarityMaps::kBetween) {
    analysis.lacks_items =
        "maps between captures have no values per item; use --maps within or all";
  }
  analysis.threads = UnitThreads::kInside;
  analysis.present = [shared](Report& report, auto) {
    fill_report(report, shared->captures, shared->options);
  };
  return analysis;
}

}  // namespace lime
