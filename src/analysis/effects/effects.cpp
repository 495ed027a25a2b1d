// SPDX-License-Identifier: Apache-2.0
#include "analysis/effects/effects.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "core/random.h"
#include "metrics/correlation.h"
#include "metrics/quantiles.h"

namespace lime {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kFewestOfLayer = 3;
constexpr std::int64_t kFewestComponents = 10;
/// Layers from which an interval of the correlation within layers is given: a bootstrap over fewer
/// has too few distinct samples.
constexpr std::int64_t kFewestLayers = 5;
constexpr std::int64_t kMaxResamples = 2000;
/// Lower end of the interval from which mass may be read as importance; our convention.
constexpr double kReadable = 0.7;
constexpr std::size_t kHashDigits = 12;

struct Pairs {
  std::vector<double> mass;
  std::vector<double> effect;

  bool has_equal_masses() const {
    return std::ranges::all_of(mass, [&](double value) { return value == mass.front(); });
  }
};

/// Correlation of ranks with its interval.
struct Agreement {
  double value = kNone;
  double low = kNone;
  double high = kNone;
  std::int64_t n = 0;
};

Agreement over_all(const Pairs& pairs, bool has_order, const SummaryOptions& options) {
  Agreement agreement{.n = std::ssize(pairs.mass)};
  if (pairs.mass.size() < kFewestOfLayer || !has_order) return agreement;
  agreement.value = spearman_correlation(pairs.mass, pairs.effect);
  std::vector<double> resampled;
  const std::int64_t count = std::min(options.resamples, kMaxResamples);
  for (std::int64_t r = 0; r < count; ++r) {
    Random random = Random(options.seed).fork(static_cast<std::uint64_t>(r));
    Pairs drawn;
    for (std::size_t i = 0; i < pairs.mass.size(); ++i) {
      const auto from = static_cast<std::size_t>(random.below(pairs.mass.size()));
      drawn.mass.push_back(pairs.mass[from]);
      drawn.effect.push_back(pairs.effect[from]);
    }
    const double value = spearman_correlation(drawn.mass, drawn.effect);
    if (std::isfinite(value)) resampled.push_back(value);
  }
  if (resampled.empty()) return agreement;
  std::ranges::sort(resampled);
  agreement.low = quantile(resampled, (1.0 - options.confidence) / 2.0);
  agreement.high = quantile(resampled, (1.0 + options.confidence) / 2.0);
  return agreement;
}

Agreement within_layers(const std::map<std::int64_t, Pairs>& layers,
                        const SummaryOptions& options) {
  std::vector<double> values;
  for (const auto& [layer, pairs] : layers) {
    if (pairs.mass.size() < kFewestOfLayer) continue;
    const double value = spearman_correlation(pairs.mass, pairs.effect);
    if (std::isfinite(value)) values.push_back(value);
  }
  if (values.empty()) return {};
  const Summary summary = summarize(values, options);
  if (summary.n < kFewestLayers) return {.value = summary.mean, .n = summary.n};
  return {summary.mean, summary.ci_low, summary.ci_high, summary.n};
}

ResultRow agreement_row(const ResultRow& base, const char* measure, const Agreement& agreement) {
  ResultRow row = base;
  row.add({{col::kKind, "agreement"}, {col::kMeasure, measure}, {col::kN, agreement.n}});
  row.add({{col::kAgreement, agreement.value},
           {col::kAgreement.low, agreement.low},
           {col::kAgreement.high, agreement.high}});
  return row;
}

/// Adds the part of the effect of removing all streams that one stream alone prevents.
void add_rescue(const SweepEffects& effects, const ResultRow& key, ResultRow& row) {
  const ResultRow* const rescue = effects.find("rescue", key);
  const ResultRow* const all = effects.find("streams", {{col::kLayer, key.integer(col::kLayer)}});
  if (rescue == nullptr || all == nullptr || all->number(col::kEffect) == 0.0) return;
  row.set(col::kRescued, 1.0 - rescue->number(col::kEffect) / all->number(col::kEffect));
}

bool has_cells(const ResultRow& row, const ResultRow& key) {
  return std::ranges::all_of(key.cells(), [&](const ResultRow::NamedCell& cell) {
    return row.cell(Column{cell.name}) == cell.value;
  });
}

std::string name_of(const ResultRow& row) {
  std::string name = fmt::format("layer {}", row.integer(col::kLayer));
  for (const Column& column :
       std::initializer_list<Column>{col::kRead, col::kSource, col::kExpert, col::kStream}) {
    if (row.has(column)) name += fmt::format(", {} {}", column.name, row.shown(column));
  }
  return name;
}

std::string interval_of(const ResultRow& row) {
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", row.number(col::kAgreement),
                     row.number(col::kAgreement.low), row.number(col::kAgreement.high));
}

/// Says in words how `mass` may be read.
std::string verdict_of(const RowPointers& agreements, const std::string& mass) {
  const ResultRow& all = *agreements.front();
  if (all.integer(col::kN) >= static_cast<std::int64_t>(kFewestOfLayer) &&
      !std::isfinite(all.number(col::kAgreement))) {
    return fmt::format(
        "each component of a layer has the same {}, so that there is no order: read the effects",
        mass);
  }
  if (all.integer(col::kN) < kFewestComponents || !std::isfinite(all.number(col::kAgreement.low))) {
    return fmt::format(
        "{} components are too few to tell whether {} may be read as importance: read the effects",
        all.integer(col::kN), mass);
  }
  const auto low = [](const ResultRow& row) { return row.number(col::kAgreement.low); };
  // Too few layers have no interval, and so no say.
  const ResultRow* const within =
      agreements.size() > 1 && std::isfinite(low(*agreements[1])) ? agreements[1] : nullptr;
  const std::string numbers =
      fmt::format("rank correlation of {} and effect {}{}", mass, interval_of(all),
                  within == nullptr ? "" : ", within layers " + interval_of(*within));
  const bool agrees = low(all) > 0.0 && (within == nullptr || low(*within) > 0.0);
  const bool is_readable = low(all) > kReadable && (within == nullptr || low(*within) > kReadable);
  if (is_readable) {
    return fmt::format("{}: {} may be read as importance on this text", numbers, mass);
  }
  if (agrees) {
    return fmt::format(
        "{}: {} and effect agree in part; do not read single cells as importance, read the effects",
        numbers, mass);
  }
  if (low(all) > 0.0) {
    return fmt::format(
        "{}: {} tells layers apart, not components of a layer; do not read it as importance",
        numbers, mass);
  }
  return fmt::format("{}: {} must not be read as importance; read the effects", numbers, mass);
}

std::string largest_of(const RowPointers& rows, const std::string& mass) {
  const auto largest = [&](const Column& column) {
    return *std::ranges::max_element(rows, {},
                                     [&](const ResultRow* row) { return row->number(column); });
  };
  const ResultRow& heaviest = *largest(col::kMass);
  const ResultRow& strongest = *largest(col::kEffect);
  return fmt::format(
      "largest {}: {} ({:.3f}, effect {:.4f}); largest effect: {} ({} {:.3f}, effect {:.4f})", mass,
      name_of(heaviest), heaviest.number(col::kMass), heaviest.number(col::kEffect),
      name_of(strongest), mass, strongest.number(col::kMass), strongest.number(col::kEffect));
}

}  // namespace

SweepEffects::SweepEffects(const std::filesystem::path& path, std::string over,
                           const std::vector<std::string>& parts)
    : path_(path), over_(std::move(over)), results_(read_results(path)) {
  throw_if(results_.metric != "sweep", OptionName("effects"),
           "'{}' contains results of {}, expected those of lime-capture sweep --over {}",
           path.string(), results_.metric, over_);
  throw_if(std::ranges::none_of(parts, [&](const std::string& part) { return has_part(part); }),
           OptionName("effects"), "'{}' is a sweep over {}, expected one over {}", path.string(),
           results_.options.value("over", "other components"), over_);
  throw_if(results_.inputs.empty(), OptionName("effects"), "'{}' does not name its model",
           path.string());
}

void SweepEffects::check_model(const std::string& checkpoint_sha256,
                               const std::string& name) const {
  const ResultsInput& model = results_.inputs.front();
  if (model.sha256 == checkpoint_sha256) return;
  throw InvalidArgument(
      OptionName("effects"),
      "'{}' is a sweep of another model ('{}', sha256 {}...) than '{}' ({}...); run lime-capture "
      "sweep --over {} with the same checkpoint",
      path_.string(), model.label, model.sha256.substr(0, kHashDigits), name,
      checkpoint_sha256.empty() ? "unknown" : checkpoint_sha256.substr(0, kHashDigits), over_);
}

std::string SweepEffects::warning_on_text(const std::string& text_sha256) const {
  const std::string& own = results_.inputs.front().text_sha256;
  if (own.empty() || text_sha256.empty() || own == text_sha256) return "";
  return fmt::format("'{}' was measured on another text than the capture", path_.string());
}

bool SweepEffects::has_part(const std::string& part) const {
  return std::ranges::any_of(results_.rows, [&](const ResultRow& row) {
    return row.text(col::kPart) == part && row.has(col::kEffect);
  });
}

const ResultRow* SweepEffects::find(const std::string& part, const ResultRow& key) const {
  const auto found = std::ranges::find_if(results_.rows, [&](const ResultRow& row) {
    return row.text(col::kPart) == part && row.has(col::kEffect) && has_cells(row, key);
  });
  return found == results_.rows.end() ? nullptr : &*found;
}

AnalysisInput SweepEffects::input() const { return {path_.string(), "effects", {path_}}; }

std::vector<ResultRow> effect_rows(const SweepEffects& effects, const std::string& part,
                                   const ResultRow& base,
                                   const std::vector<ComponentMass>& components,
                                   const SummaryOptions& options) {
  std::vector<ResultRow> rows;
  Pairs all;
  std::map<std::int64_t, Pairs> layers;
  std::map<std::pair<std::int64_t, std::string>, Pairs> reads;
  for (const ComponentMass& component : components) {
    const ResultRow* const swept = effects.find(part, component.key);
    if (swept == nullptr || !std::isfinite(component.mass)) continue;
    ResultRow& row = rows.emplace_back(base);
    row.set(col::kKind, "effect").add(component.key);
    row.set(col::kMass, component.mass);
    for (const Column& column :
         std::initializer_list<Column>{col::kEffect, col::kEffect.low, col::kEffect.high}) {
      row.set_cell(column.name, swept->cell(column));
    }
    if (part == "stream") add_rescue(effects, component.key, row);
    const std::int64_t layer = component.key.integer(col::kLayer);
    for (Pairs* const pairs :
         {&all, &layers[layer], &reads[{layer, component.key.text(col::kRead)}]}) {
      pairs->mass.push_back(component.mass);
      pairs->effect.push_back(swept->number(col::kEffect));
    }
  }
  throw_if(rows.empty(), OptionName("effects"),
           "the sweep has none of the components of the map; run lime-capture sweep --over {} with "
           "this model",
           effects.over());
  // Equal shares of a layer differ between layers by their number only, as in a plain transformer.
  const bool has_order =
      !std::ranges::all_of(reads, [](const auto& read) { return read.second.has_equal_masses(); });
  rows.push_back(agreement_row(base, "all", over_all(all, has_order, options)));
  if (const Agreement within = within_layers(layers, options); within.n > 1) {
    rows.push_back(agreement_row(base, "within layers", within));
  }
  return rows;
}

void add_effect_sections(Report& report, const std::string& mass) {
  const auto columns = [&](const char* kind, std::initializer_list<Column> names,
                           std::vector<TableColumn> numbers) {
    std::vector<TableColumn> all;
    for (const Column& name : names) all.push_back(table_column(name));
    std::ranges::move(numbers, std::back_inserter(all));
    return present_in(rows_with(report.results.rows, {{col::kKind, kind}}), std::move(all));
  };
  const auto heading = [](const ResultRow& row) {
    const std::string& weighting = row.text(col::kWeighting);
    return weighting.empty() || weighting == "none" ? "" : "weighted by " + weighting;
  };
  report.sections.push_back(
      {.kind = "effect",
       .notes = {fmt::format("mass: {}; effect: change of the loss without the component (nats per "
                             "token) [interval over sequences]; above 0: it helps",
                             mass)},
       .columns =
           columns("effect", {col::kLayer, col::kRead, col::kSource, col::kExpert, col::kStream},
                   {number_column(col::kMass, 3), number_column(col::kEffect, 4),
                    number_column(col::kEffect.low, 4), number_column(col::kEffect.high, 4),
                    number_column(col::kRescued, 2)}),
       .heading = heading});
  report.sections.push_back(
      {.kind = "agreement",
       .notes = {fmt::format("rank correlation of {} and effect [bootstrap interval over "
                             "components, or over layers]",
                             mass)},
       .columns = columns("agreement", {col::kMeasure},
                          {number_column(col::kAgreement, 2), number_column(col::kAgreement.low, 2),
                           number_column(col::kAgreement.high, 2), table_column(col::kN)}),
       .heading = heading});
  const std::vector<ResultRow>& rows = report.results.rows;
  std::vector<std::string> weightings =
      distinct(rows_with(rows, {{col::kKind, "agreement"}}), col::kWeighting);
  if (weightings.empty()) weightings.emplace_back();
  for (const std::string& weighting : weightings) {
    const std::string name = weighting.empty() || weighting == "none"
                                 ? mass
                                 : fmt::format("{} weighted by {}", mass, weighting);
    const RowPointers agreements =
        rows_with(rows, {{col::kKind, "agreement"}, {col::kWeighting, weighting}});
    report.remarks.push_back(
        largest_of(rows_with(rows, {{col::kKind, "effect"}, {col::kWeighting, weighting}}), name));
    report.remarks.push_back(verdict_of(agreements, name));
  }
}

}  // namespace lime
