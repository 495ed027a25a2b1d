// SPDX-License-Identifier: Apache-2.0
#include "analysis/correlates/correlates_analysis.h"

#include <cmath>

#include "analysis/engine/stored_results.h"
#include "core/files/input_file.h"
#include "core/program/suggest.h"
#include "core/utf8.h"
#include "metrics/correlation.h"

namespace lime {
namespace {

constexpr std::size_t kFewestValues = 4;
constexpr const char* kAllLabels = "all";

/// Label and, if the scores have layers, layer; -1: none.
using Place = std::pair<std::string, std::int64_t>;

struct Scores {
  bool has_layers = false;
  std::vector<std::string> names;
  std::map<Place, std::vector<double>> values;  ///< one per name
};

/// Splits a line of CSV at its commas; "" inside quotes is a quote.
std::vector<std::string> split_csv(std::string_view line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (is_quoted && i + 1 < line.size() && line[i + 1] == '"') {
        cells.back() += line[++i];
      } else {
        is_quoted = !is_quoted;
      }
    } else if (line[i] == ',' && !is_quoted) {
      cells.emplace_back();
    } else if (line[i] != '\r') {
      cells.back() += line[i];
    }
  }
  return cells;
}

double number_in(const std::string& cell, const std::string& where) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error == std::errc() && end == cell.data() + cell.size() && std::isfinite(value))
    return value;
  throw FormatError("{}: expected a finite number, got '{}'", where, printable(cell));
}

Scores read_scores(const std::filesystem::path& path) {
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  Scores scores;
  std::vector<std::string> header;
  std::int64_t line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::string where = fmt::format("'{}', line {}", path.string(), ++line_number);
    if (line.empty() || line == "\r") continue;
    std::vector<std::string> cells = split_csv(line);
    if (header.empty()) {
      scores.has_layers = cells.size() > 1 && cells[1] == "layer";
      const std::size_t first = scores.has_layers ? 2 : 1;
      throw_if<FormatError>(
          cells[0] != "label" || cells.size() <= first,
          "{}: the header must be label, optionally layer, and the names of scores, got '{}'",
          where, printable(line));
      scores.names.assign(cells.begin() + static_cast<std::ptrdiff_t>(first), cells.end());
      header = std::move(cells);
      continue;
    }
    throw_if<FormatError>(cells.size() != header.size(),
                          "{}: must have {} cells like the header, got {}", where, header.size(),
                          cells.size());
    Place place{cells[0], -1};
    if (scores.has_layers) place.second = std::llround(number_in(cells[1], where + ", layer"));
    std::vector<double> values;
    for (std::size_t i = header.size() - scores.names.size(); i < cells.size(); ++i) {
      values.push_back(number_in(cells[i], where + ", " + header[i]));
    }
    throw_if<FormatError>(!scores.values.emplace(place, std::move(values)).second,
                          "{}: '{}' repeats the label and layer of an earlier line", where,
                          printable(line));
  }
  if (scores.values.empty()) throw FormatError("'{}': contains no scores", path.string());
  return scores;
}

/// A measurement at every place.
struct MeasuredPlaces {
  std::string site;
  std::string name;
  std::map<Place, double> values;
};

std::vector<MeasuredPlaces> read_measurements(const std::vector<std::filesystem::path>& paths) {
  std::vector<MeasuredPlaces> found;
  for (const std::filesystem::path& path : paths) {
    const Results results = read_results(path);
    for (const ResultRow& row : results.rows) {
      if (!row.has(col::kLayer) || !row.has(col::kLabel)) continue;
      const std::string& site = row.text(col::kSite);
      for (const StoredValue& measured : stored_values_of(row, results.metric)) {
        auto item = std::ranges::find_if(found, [&](const MeasuredPlaces& other) {
          return other.site == site && other.name == measured.name;
        });
        if (item == found.end()) item = found.insert(found.end(), {site, measured.name, {}});
        const Place place{row.text(col::kLabel), row.integer(col::kLayer)};
        throw_if(!item->values.emplace(place, measured.value).second,
                 "'{}': '{}' of '{}', layer {} occurs twice; give each result once", path.string(),
                 measured.name, place.first, place.second);
      }
    }
  }
  throw_if(found.empty(), OptionName("results"),
           "contain no mean per layer; give JSON files of entropy, geometry or another "
           "metric with layers");
  return found;
}

struct Pairs {
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> depth;
};

void add_row(const Pairs& pairs, ResultRow key, bool controls_depth, std::vector<ResultRow>& rows) {
  if (pairs.x.size() < kFewestValues) return;
  key.set(col::kN, pairs.x.size());
  key.set(col::kSpearman, spearman_correlation(pairs.x, pairs.y));
  if (controls_depth) {
    key.set(col::kPartial, partial_spearman_correlation(pairs.x, pairs.y, pairs.depth));
  }
  rows.push_back(std::move(key));
}

/// Correlates over the layers of each label and of all labels, or, if the scores have no layers,
/// over the labels in each layer.
void correlate(const MeasuredPlaces& measurement, const Scores& scores, std::size_t score,
               std::vector<ResultRow>& rows) {
  std::map<std::string, std::int64_t> last;
  for (const auto& [place, value] : measurement.values) {
    last[place.first] = std::max(last[place.first], place.second);
  }
  std::map<Place, Pairs> groups;  // by label or by layer
  Pairs pooled;
  for (const auto& [place, value] : measurement.values) {
    const auto& [label, layer] = place;
    const auto found = scores.values.find(scores.has_layers ? place : Place{label, -1});
    if (found == scores.values.end()) continue;
    Pairs& group = groups[scores.has_layers ? Place{label, -1} : Place{"", layer}];
    for (Pairs* const pairs : {&group, &pooled}) {
      pairs->x.push_back(value);
      pairs->y.push_back(found->second[score]);
      pairs->depth.push_back(static_cast<double>(layer) /
                             static_cast<double>(std::max<std::int64_t>(last[label], 1)));
    }
  }
  const auto add = [&](const Place& place, const Pairs& pairs) {
    ResultRow key = scores.has_layers
                        ? ResultRow{{col::kLabel, place.first}, {col::kSite, measurement.site}}
                        : ResultRow{{col::kSite, measurement.site}, {col::kLayer, place.second}};
    key.set(col::kMeasure, measurement.name);
    add_row(pairs, std::move(key), scores.has_layers, rows);
  };
  for (const auto& [place, pairs] : groups) add(place, pairs);
  if (scores.has_layers && groups.size() > 1) add({kAllLabels, -1}, pooled);
}

struct CorrelatesShared {
  Scores scores;
  std::vector<MeasuredPlaces> measurements;
};

UnitResult measure_score(const CorrelatesShared& shared, std::size_t score) {
  UnitResult result;
  for (const MeasuredPlaces& measurement : shared.measurements) {
    correlate(measurement, shared.scores, score, result.rows);
  }
  if (!result.rows.empty()) return result;
  std::vector<std::string> labels;
  for (const auto& [place, value] : shared.measurements.front().values) {
    if (labels.empty() || labels.back() != place.first) labels.push_back(place.first);
  }
  throw InvalidArgument(
      OptionName("scores"),
      "at least {} {} must be in the results and in the scores with the same label{} "
      "(labels of the results: {})",
      kFewestValues, shared.scores.has_layers ? "layers of a model" : "models",
      shared.scores.has_layers ? " and layer" : "", printable(join_words(labels)));
}

void fill_report(Report& report, bool has_layers) {
  report.notes = {
      has_layers ? "rank correlation over layers of each measurement with each score; partial: "
                   "controlled for depth"
                 : "rank correlation over models of each layer's measurement with each score"};
  report.legend =
      "coefficients in [-1, 1], not tests: layers of a model are not independent; nan: all values "
      "are equal, or a variable is monotonic in depth";
  report.columns = {table_column(col::kTask, "score"), table_column(col::kLabel),
                    table_column(col::kSite),          table_column(col::kLayer),
                    table_column(col::kMeasure),       number_column(col::kSpearman, 3),
                    number_column(col::kPartial, 3),   table_column(col::kN)};
}

}  // namespace

void CorrelatesOptions::describe_inputs(OptionList& list) {
  list.add("results", results, "JSON results of other metrics, with a row per layer");
}

void CorrelatesOptions::describe(OptionList& list) {
  list.add("scores", scores,
           "CSV file with the columns label, optionally layer, and one column per score");
}

void CorrelatesOptions::validate() const {
  if (results.empty())
    throw InvalidArgument(OptionName("results"), "expected at least one file, got none");
  if (scores.empty())
    throw InvalidArgument(OptionName("scores"), "expected a CSV file; add --scores FILE");
}

Analysis prepare_correlates(const CorrelatesOptions& options, const RunOptions&) {
  options.validate();
  const auto shared = std::make_shared<CorrelatesShared>();
  shared->scores = read_scores(options.scores);
  shared->measurements = read_measurements(options.results);
  Analysis analysis = analysis_of("correlates", options);
  for (const std::filesystem::path& path : options.results) {
    analysis.inputs.push_back({path.string(), path.stem().string(), {path}});
  }
  analysis.inputs.push_back({options.scores.string(), "scores", {options.scores}});
  for (std::size_t i = 0; i < shared->scores.names.size(); ++i) {
    Unit unit;
    unit.key = {{col::kTask, shared->scores.names[i]}};
    unit.where = "correlates";
    unit.measure = [shared, i](const UnitContext&) { return measure_score(*shared, i); };
    analysis.units.push_back(std::move(unit));
  }
  analysis.lacks_items = "correlations have no values per item";
  analysis.present = [shared](Report& report, auto) {
    fill_report(report, shared->scores.has_layers);
  };
  return analysis;
}

}  // namespace lime
