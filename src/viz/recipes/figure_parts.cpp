// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

constexpr double kUsualConfidence = 0.95;
constexpr std::array kSeriesPatterns = {LinePattern::kSolid, LinePattern::kDashed,
                                        LinePattern::kDashDotted, LinePattern::kDotted};

std::pair<double, double> spread_of(const FigureRow& row, const LayerCurves& columns) {
  if (columns.deviation.is_none()) return {row.number(columns.low), row.number(columns.high)};
  const double value = row.number(columns.value);
  const double deviation = row.number(columns.deviation);
  const auto [least, most] = columns.bounds;
  return {std::max(least, value - deviation), std::min(most, value + deviation)};
}

/// Returns the bounds of a panel's rows, if they agree within each model; one line if all do.
std::vector<ReferenceLine> references_of(const FigureRows& rows, const LayerCurves& columns) {
  if (columns.ceiling.is_none()) return {};
  std::vector<double> seen;
  for (const FigureRow& row : rows) {
    const double value = row.number(columns.ceiling);
    if (!std::isfinite(value)) continue;
    const bool known =
        std::ranges::any_of(seen, [&](double other) { return std::abs(other - value) < 1e-9; });
    if (!known) seen.push_back(value);
  }
  if (seen.empty() || seen.size() > 3) return {};
  std::vector<ReferenceLine> lines;
  for (const double value : seen) {
    lines.push_back({value, columns.ceiling_label, false, columns.ceiling_in_legend});
  }
  return lines;
}

bool is_spread_whole(const Curve& curve) {
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    const bool is_whole = std::isfinite(curve.low[i]) && std::isfinite(curve.high[i]);
    if (std::isfinite(curve.y[i]) && !is_whole) return false;
  }
  return true;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 54> kNames = {{
    {"relative_norm", "norm / median"},
    {"next_cosine", "cosine with next token"},
    {"entropy_contribution", "entropy contribution (nats)"},
    {"lens_probability", "probability of next token"},
    {"lens_rank", "rank of next token"},
    {"lens_kl", "KL to the final layer (nats)"},
    {"distance", "distance (tokens)"},
    {"first_share", "attention to first token"},
    {"previous_share", "attention to previous token"},
    {"own_share", "attention to query token"},
    {"entropy", "entropy (nats)"},
    {"rankme", "RankMe"},
    {"anisotropy", "anisotropy (mean cosine)"},
    {"anisotropy_centred", "anisotropy, centred"},
    {"sequence_cosine", "mean cosine of tokens"},
    {"mean_token_similarity", "similarity to mean token"},
    {"rank_one_residual", "rank-one residual"},
    {"rank_one_residual_1inf", "rank-one residual (1,\xE2\x88\x9E)"},
    {"curvature", "curvature (degrees)"},
    {"massive_share", "massive activations (fraction)"},
    {"massive_token_share", "tokens with massive activations"},
    {"largest_to_median", "largest / median magnitude"},
    {"two_nn", "dimension (TwoNN)"},
    {"mle", "dimension (MLE)"},
    {"dime", "DiME"},
    {"infonce", "InfoNCE (nats)"},
    {"lidar", "LiDAR"},
    {"cka", "CKA"},
    {"cka_debiased", "CKA, debiased"},
    {"procrustes", "Procrustes distance"},
    {"kl_to_final", "KL to the final layer (nats)"},
    {"agreement", "same top token as the final layer"},
    {"loss", "loss (nats)"},
    {"sink_rate", "sink rate (fraction of heads)"},
    {"gride", "dimension (GRIDE)"},
    {"mutual_knn", "mutual nearest neighbours"},
    {"imbalance", "information imbalance"},
    {"influence", "block influence"},
    {"angle", "angle / 180\xC2\xB0"},
    {"alpha_req", "\xCE\xB1 of the power law"},
    {"first_norm_ratio", "norm of token 0 / median"},
    {"top_share", "\xCF\x83\xE2\x82\x81\xC2\xB2 / \xCE\xA3\xCF\x83\xC2\xB2"},
    {"top_share_rest", "the same without token 0"},
    {"load_entropy", "entropy of the load (nats)"},
    {"max_violation", "largest load / mean \xE2\x88\x92 1"},
    {"load_variation", "std of the load / mean"},
    {"load_gini", "Gini of the load"},
    {"routing_entropy", "entropy of the routing (nats)"},
    {"weight_entropy", "entropy of the weights (nats)"},
    {"overlap", "overlap with the previous token"},
    {"committee_share", "weight on the committee"},
    {"domain_information", "I(expert; domain) (nats)"},
    {"document_information", "I(expert; document) (nats)"},
    {"token_information", "I(expert; token) (nats)"},
}};

/// One of each group of related geometry measures.
constexpr std::array kUsual = {"effective_rank",
                               "participation_ratio",
                               "anisotropy",
                               "rank_one_residual",
                               "curvature",
                               "two_nn",
                               "sequence_cosine",
                               "largest_to_median",
                               "top_share",
                               "effective_experts",
                               "max_violation",
                               "routing_entropy",
                               "overlap",
                               "committee_share",
                               "domain_information",
                               "document_information",
                               "token_information"};
constexpr std::size_t kMany = 4;

/// Returns the preset of `row`: its own, or the one in the options of its results.
std::string preset_of(const FigureRow& row, const Json& options) {
  const auto option = [&](const char* name) {
    const auto found = options.find(name);
    return found == options.end() ? Json() : *found;
  };
  std::string preset = row.text(col::kPreset);
  const Json stored = option("preset");
  if (preset.empty() && stored.is_string()) preset = stored.get<std::string>();
  const Json normalization = option("normalization");
  if (normalization.is_string() && normalization != "maxEntropy") {
    preset += " " + normalization.get<std::string>();
  }
  const Json top_k = option("top_k");
  if (top_k.is_number_integer()) preset += fmt::format(" top {}", top_k.get<std::int64_t>());
  const Json skipped = option("skip_tokens");
  if (skipped.is_number_integer() && skipped > 0) {
    preset += fmt::format(" without the first {}", skipped.get<std::int64_t>());
  }
  const Json length = option("match_length");
  if (length.is_number_integer()) {
    preset += fmt::format(" of {} tokens", length.get<std::int64_t>());
  }
  const std::string over = row.text(col::kOver);
  return over.empty() || over == "sequences" ? preset : preset + " of " + over;
}

std::string order_of(const FigureRow& row) {
  if (!row.has(col::kAlpha)) return "";
  const double alpha = row.number(col::kAlpha);
  if (std::isinf(alpha)) return "\xCE\xB1 = \xE2\x88\x9E";
  return fmt::format("\xCE\xB1 = {}", alpha);
}

bool all_agree(const std::vector<EntropyKind>& all, std::string EntropyKind::*part) {
  return std::ranges::all_of(
      all, [&](const EntropyKind& kind) { return kind.*part == all.front().*part; });
}

}  // namespace

SeriesStyle model_style(std::size_t index) {
  return {index, kSeriesPatterns[index / 7 % kSeriesPatterns.size()], marker_of(index)};
}

SeriesStyle group_style(std::size_t index) {
  return {group_colour(index), kSeriesPatterns[index / kGroupColours % kSeriesPatterns.size()],
          marker_of(index)};
}

SeriesStyle layer_style(std::size_t index, std::size_t count) {
  if (index == count) return {.colour = kMutedColour, .marker = marker_of(index)};
  const double last = std::max(1.0, static_cast<double>(count) - 1.0);
  return {.colour = step_colour(static_cast<double>(index) / last), .marker = marker_of(index)};
}

std::string intervals_note(const Figure& figure, FigureSources sources, const std::string& kind,
                           const std::string& intervals) {
  bool has_bands = false;
  bool has_bars = false;
  const auto see = [&](const Curve& curve) {
    const std::size_t lone = lone_points(curve).size();
    const auto points = static_cast<std::size_t>(
        std::ranges::count_if(curve.y, [](double value) { return std::isfinite(value); }));
    has_bands = has_bands || (curve.spread == Curve::Spread::kBand && lone < points);
    has_bars = has_bars || curve.spread == Curve::Spread::kBars || lone > 0;
  };
  for (const FigurePanel& panel : figure.panels) {
    if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
      for (const Curve& curve : curves->curves) see(curve);
    } else if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
      for (const BarPanel::Series& series : bars->series) {
        has_bars = has_bars ||
                   std::ranges::any_of(series.low, [](double low) { return std::isfinite(low); });
      }
    }
  }
  if (!has_bands && !has_bars) return "";
  const char* const drawn = !has_bars ? "bands" : has_bands ? "bands and error bars" : "error bars";
  const double confidence = option_number(sources.front(), "confidence", kUsualConfidence);
  return fmt::format("{}: {}{:.6g}% {}", drawn, kind, 100.0 * confidence, intervals);
}

void lay_out(Figure& figure, const FigureOptions& options, int usual, int wide_from) {
  const int requested = options.columns > 0 ? options.columns : usual;
  figure.columns = columns_for(figure.panels.size(), requested);
  figure.is_wide = figure.columns >= wide_from;
}

void add_note(Figure& figure, const std::string& more) {
  if (!figure.note.empty() && !more.empty()) figure.note += "; ";
  figure.note += more;
}

std::vector<std::string> sites_of(const FigureRows& rows) {
  std::vector<std::string> sites = distinct(rows, col::kSite);
  if (sites.empty()) sites.emplace_back();
  return sites;
}

std::string site_note(const std::vector<std::string>& sites) {
  return sites.size() == 1 && !sites.front().empty() ? "site: " + sites.front() : "";
}

std::string joined_parts(std::vector<std::string> parts) {
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool has_spread(const FigurePanel& panel) {
  const auto* const curves = std::get_if<CurvePanel>(&panel.content);
  return curves != nullptr && std::ranges::any_of(curves->curves, [](const Curve& curve) {
           return curve.spread != Curve::Spread::kNone;
         });
}

RowsSide rows_side(const std::string& label, const FigureRows& rows, const Column& column, int base,
                   int limit) {
  return {{label, numbers_from(base, count_of(rows, column, limit))}, column, base};
}

FigurePanel map_of_rows(const FigureRows& rows, const RowsSide& x, const RowsSide& y,
                        const Column& value,
                        const std::function<bool(const FigureRow&)>& is_crossed) {
  const auto size = [](const MapSide& side) {
    return static_cast<int>(std::ssize(side.numbers)) * side.inner;
  };
  const auto place = [](const FigureRow& row, const RowsSide& on) {
    const std::vector<int>& numbers = on.side.numbers;
    const int number = row.index(on.column, numbers.back() - on.base + 1) + on.base;
    const auto at = std::ranges::lower_bound(numbers, number);
    if (*at != number) return -1;
    const auto line = static_cast<int>(at - numbers.begin()) * on.side.inner;
    return on.inner.is_none() ? line : line + row.index(on.inner, on.side.inner);
  };
  MatrixD values = empty_map(rows, size(y.side), size(x.side));
  std::vector<HeatmapPanel::Mark> marks;
  for (const FigureRow& row : rows) {
    const int line = place(row, y);
    const int column = place(row, x);
    if (line < 0 || column < 0) continue;
    values(line, column) = row.number(value);
    if (!is_crossed || !is_crossed(row)) continue;
    marks.push_back({y.side.is_downward ? size(y.side) - 1 - line : line, column, true});
  }
  FigurePanel panel = map_panel(values, x.side, y.side);
  std::get<HeatmapPanel>(panel.content).marks = std::move(marks);
  return panel;
}

FigureAxis token_axis(const std::string& label, const std::vector<std::string>& texts,
                      std::vector<int> positions, bool is_downward) {
  if (positions.empty()) positions = numbers_from(0, static_cast<int>(texts.size()));
  const std::string addition = ", position";
  const bool has_texts = !contains(texts, "");
  FigureAxis axis{.label = has_texts ? label : label + addition};
  axis.if_crowded = CrowdedAxis{.addition = has_texts ? addition : "", .ticks = {}};
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const auto at = static_cast<double>(is_downward ? positions.size() - 1 - i : i);
    axis.if_crowded->ticks.push_back({at, std::to_string(positions[i])});
    axis.ticks.push_back({at, has_texts ? texts[i] : std::to_string(positions[i])});
  }
  return axis;
}

BarPanel bars_of(const FigureRows& rows, const Column& group, const Column& value,
                 const std::function<std::string(const FigureRow&)>& series_of) {
  BarPanel bars;
  bars.groups = distinct(rows, group);
  for (const std::string& name : distinct_values(rows, series_of)) {
    BarPanel::Series series{name, {}, {}, {}, model_style(bars.series.size())};
    for (const std::string& subject : bars.groups) {
      const auto own = std::ranges::find_if(rows, [&](const FigureRow& row) {
        return row.text(group) == subject && series_of(row) == name;
      });
      const auto number = [&](const Column& column) {
        return own == rows.end() ? std::numeric_limits<double>::quiet_NaN() : own->number(column);
      };
      series.values.push_back(number(value));
      series.low.push_back(number(col::kCiLow));
      series.high.push_back(number(col::kCiHigh));
      series.stars.push_back(stars_of_p(number(col::kP)));
    }
    bars.series.push_back(std::move(series));
  }
  bars.lines_per_group = usual_lines_per_group(bars.groups.size(), bars.series.size());
  return bars;
}

Curve layer_curve(const FigureRows& rows, const LayerCurves& columns, int layer_base,
                  const std::string& label, const SeriesStyle& style) {
  const bool is_over_layers = columns.over == col::kLayer;
  std::map<double, const FigureRow*> by_place;
  for (const FigureRow& row : rows) {
    const double place =
        is_over_layers ? row.index(col::kLayer, kMaxLayers) : row.number(columns.over);
    if (by_place.emplace(place, &row).second) continue;
    throw InvalidArgument("figure: {} {} of {} is duplicated; select one with --site or --label",
                          columns.over.name, place, row.text(col::kLabel));
  }
  Curve curve;
  curve.spread = columns.spread;
  const auto add = [&](double x, double y, std::pair<double, double> ends) {
    curve.x.push_back(x);
    curve.y.push_back(y);
    curve.low.push_back(ends.first);
    curve.high.push_back(ends.second);
  };
  double next = by_place.empty() ? 0.0 : by_place.begin()->first;
  const int base = is_over_layers ? layer_base : 0;
  for (const auto& [place, row] : by_place) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    if (is_over_layers && place > next) add(next + base, kNone, {kNone, kNone});
    add(place + base, row->number(columns.value), spread_of(*row, columns));
    next = place + 1;
  }
  if (!is_spread_whole(curve) || (columns.low.is_none() && columns.deviation.is_none())) {
    curve.spread = Curve::Spread::kNone;
    curve.low.clear();
    curve.high.clear();
  }
  // With one layer a band has no width.
  if (curve.x.size() == 1 && curve.spread == Curve::Spread::kBand) {
    curve.spread = Curve::Spread::kBars;
  }
  curve.label = label;
  curve.style = style;
  // With many layers there is no room for markers.
  if (curve.x.size() > 40) curve.style.marker = MarkerShape::kNone;
  return curve;
}

FigurePanel layer_panel(const FigureRows& rows, const LayerCurves& columns,
                        const std::vector<std::string>& labels, const FigureOptions& options) {
  FigurePanel panel;
  panel.x = {.label = "layer", .whole_numbers = true};
  panel.y = {.label = columns.y_label};
  const FigureRows drawn = rows_where(
      rows, [&](const FigureRow& row) { return row.has(col::kLayer) && row.has(columns.value); });
  CurvePanel curves;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const FigureRows of_model = rows_with(drawn, {{col::kLabel, labels[i]}});
    if (of_model.empty()) continue;
    curves.curves.push_back(
        layer_curve(of_model, columns, options.layer_base, labels[i], model_style(i)));
  }
  curves.references = references_of(drawn, columns);
  panel.content = std::move(curves);
  return panel;
}

std::vector<std::string> selected_measures(const std::vector<std::string>& available,
                                           const std::vector<std::string>& requested) {
  for (const std::string& measure : requested) {
    if (is_requested(available, measure)) continue;
    throw InvalidArgument(OptionName("measure"), "the results contain no '{}' (their measures: {})",
                          measure, fmt::join(available, ", "));
  }
  if (!requested.empty()) return requested;
  if (available.size() < kMany) return available;
  std::vector<std::string> usual;
  for (const char* const measure : kUsual) {
    if (is_requested(available, measure)) usual.emplace_back(measure);
  }
  // Replaced by the cosine within sequences if there is none over all rows.
  const bool has_all_rows = !usual.empty() && is_requested(usual, "anisotropy");
  if (has_all_rows) std::erase(usual, "sequence_cosine");
  return usual.empty() ? available : usual;
}

std::string measure_name(const std::string& measure) {
  for (const auto& [key, name] : kNames) {
    if (key == measure) return std::string(name);
  }
  std::string name = measure;
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string stars_of_p(double p) {
  if (!(p < 0.05)) return "";
  if (p >= 0.01) return "*";
  return p >= 0.001 ? "**" : "***";
}

EntropyKind entropy_kind_of(const FigureRow& row, FigureSources sources) {
  return {preset_of(row, sources[row.source].results.options), row.text(col::kUnit), order_of(row)};
}

std::vector<EntropyKind> entropy_kinds(const FigureRows& rows, FigureSources sources) {
  return distinct_values(rows, [&](const FigureRow& row) { return entropy_kind_of(row, sources); });
}

std::string distinction_of(const EntropyKind& kind, const std::vector<EntropyKind>& all) {
  // The unit follows from the preset, and is in the axis label.
  return joined_parts({all_agree(all, &EntropyKind::preset) ? "" : kind.preset,
                       all_agree(all, &EntropyKind::order) ? "" : kind.order});
}

std::string common_of(const std::vector<EntropyKind>& all) {
  if (all.empty()) return "";
  const EntropyKind& first = all.front();
  const bool has_preset = !first.preset.empty() && all_agree(all, &EntropyKind::preset);
  return joined_parts({has_preset ? "preset " + first.preset : "",
                       all_agree(all, &EntropyKind::order) ? first.order : ""});
}

}  // namespace lime
