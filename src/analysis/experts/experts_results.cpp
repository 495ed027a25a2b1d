// SPDX-License-Identifier: Apache-2.0
#include "analysis/experts/experts_results.h"

#include <cmath>
#include <numeric>

#include "analysis/engine/row_summaries.h"
#include "metrics/collapse/resampled_sums.h"
#include "metrics/experts/expert_information.h"
#include "metrics/jackknife.h"
#include "store/results/matrix_rows.h"

namespace lime {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kAlpha = 0.05;

using SumFunction = std::function<double(const VectorD&)>;

/// A measure of sums over sequences, with its largest value and that of balanced routing, if any.
struct SumMeasure {
  const char* name;
  SumFunction value;
  double ceiling = kNone;
  double even = kNone;
};

std::vector<Block> blocks_of(const RoutedLayer& layer, const ExpertsOptions& options) {
  const std::int64_t count = std::min(options.jackknife, layer.num_sequences());
  if (count < kFewestBlocks) return {};
  return cut_into_blocks(layer.num_sequences(), count);
}

/// Returns 0 for the rounding error of a sum of selections.
double rounded_to_zero(double information) {
  return std::abs(information) < 1e-12 ? 0.0 : information;
}

/// Collects the rows of a layer.
class ExpertRowsCollector {
 public:
  ExpertRowsCollector(const RoutedLayer& layer, const ExpertsOptions& options)
      : layer_(layer), options_(options), summaries_(options.summary) {}

  ResultRow& start(const char* group, const std::string& measure, const char* over) {
    result_.rows.push_back({{col::kGroup, group}, {col::kMeasure, measure}, {col::kOver, over}});
    return result_.rows.back();
  }

  /// Adds functions of sums over sequences, [num_sequences, num_sums], with bootstrap intervals.
  void add_of_sums(const char* group, const MatrixD& sums,
                   const std::vector<SumMeasure>& measures) {
    std::vector<SumFunction> functions;
    for (const SumMeasure& measure : measures) functions.push_back(measure.value);
    const std::vector<Estimate> estimates = resampled(sums, functions, options_.summary);
    for (std::size_t i = 0; i < measures.size(); ++i) {
      if (!std::isfinite(estimates[i].value)) continue;
      ResultRow& row = start(group, measures[i].name, "tokens");
      set(row, {.n = layer_.experts.rows(),
                .mean = estimates[i].value,
                .std = kNone,
                .ci_low = estimates[i].low,
                .ci_high = estimates[i].high});
      set_references(row, measures[i].ceiling, measures[i].even);
    }
  }

  /// Adds a value per sequence, averaged over those that have one.
  void add_of_sequences(const char* group, const char* measure, std::vector<double> values,
                        double ceiling, double even = kNone) {
    const std::size_t all = values.size();
    std::erase_if(values, [](double value) { return std::isnan(value); });
    if (values.empty()) return;
    ResultRow& row = start(group, measure, "sequences");
    summaries_.add_mean(row, result_.rows.size() - 1, values);
    set_references(row, ceiling, even);
    if (values.size() != all) return;
    result_.samples.push_back({.key = {{col::kGroup, group}, {col::kMeasure, measure}},
                               .quantity = measure,
                               .items = "sequences",
                               .values = std::move(values)});
  }

  /// Adds a value of all tokens. @param without  the same without each block of sequences
  ResultRow& add_with_jackknife(const char* group, const std::string& measure, double value,
                                const std::vector<double>& without) {
    ResultRow& row = start(group, measure, "tokens");
    Summary summary{
        .n = layer_.experts.rows(), .mean = value, .std = kNone, .ci_low = kNone, .ci_high = kNone};
    const std::optional<Jackknife> blocks =
        jackknife_of_defined(value, without, options_.summary.confidence);
    if (blocks) {
      summary.ci_low = blocks->ci_low;
      summary.ci_high = blocks->ci_high;
    }
    set(row, summary);
    if (blocks) row.set(col::kStderr, blocks->standard_error);
    return row;
  }

  void set_references(ResultRow& row, double ceiling, double even) const {
    if (!std::isnan(ceiling)) row.set(col::kCeiling, ceiling);
    if (!std::isnan(even)) row.set(col::kEven, even);
  }
  void add_row(ResultRow row) { result_.rows.push_back(std::move(row)); }

  UnitResult finish() {
    summaries_.fill(result_.rows);
    return std::move(result_);
  }

 private:
  static void set(ResultRow& row, const Summary& summary) { set_summary(row, summary); }

  const RoutedLayer& layer_;
  const ExpertsOptions& options_;
  RowSummaries summaries_;
  UnitResult result_;
};

void add_load(const RoutedLayer& layer, ExpertRowsCollector& rows) {
  const auto experts = static_cast<double>(layer.num_experts);
  const auto selected = static_cast<double>(layer.num_selected());
  const Eigen::Index n = layer.num_experts;
  const auto of_counts = [n](double (*measure)(const VectorD&)) -> SumFunction {
    return [n, measure](const VectorD& sums) { return measure(sums.head(n)); };
  };
  std::vector<SumMeasure> measures = {
      {"load_entropy", of_counts(load_entropy), std::log(experts), std::log(experts)},
      {"effective_experts",
       [n](const VectorD& sums) { return std::exp(load_entropy(sums.head(n))); }, experts, experts},
      // At most as many tokens as there are select the same expert.
      {"max_violation", of_counts(max_violation), experts / selected - 1.0, 0.0},
      {"load_variation", of_counts(load_variation), std::sqrt(experts / selected - 1.0), 0.0},
      {"load_gini", of_counts(load_gini), 1.0 - selected / experts, 0.0},
      {"unused_experts", of_counts(unused_experts), 1.0 - selected / experts, 0.0}};
  MatrixD sums = layer.counts;
  if (layer.probabilities.size() > 0) {
    sums.conservativeResize(Eigen::NoChange, 2 * n);
    sums.rightCols(n) = layer.probabilities;
    measures.push_back({"balance_loss",
                        [n](const VectorD& both) {
                          return static_cast<double>(n) * both.head(n).dot(both.tail(n)) /
                                 (both.head(n).sum() * both.tail(n).sum());
                        },
                        kNone, 1.0});
  }
  rows.add_of_sums("load", sums, measures);
}

void add_routing(const RoutedLayer& layer, ExpertRowsCollector& rows) {
  const auto experts = static_cast<double>(layer.num_experts);
  const auto selected = static_cast<double>(layer.num_selected());
  rows.add_of_sequences("routing", "routing_entropy", layer.routing_entropy, std::log(experts),
                        std::log(experts));
  rows.add_of_sequences("routing", "selected_probability", layer.selected_probability, 1.0,
                        selected / experts);
  if (layer.num_selected() > 1) {
    rows.add_of_sequences("routing", "weight_entropy", layer.weight_entropy, std::log(selected),
                          std::log(selected));
  }
  // Of independent tokens with these loads.
  const VectorD load =
      layer.counts.colwise().sum().transpose() / static_cast<double>(layer.experts.rows());
  rows.add_of_sequences("routing", "overlap", layer.overlap, 1.0, load.squaredNorm() / selected);
}

/// Returns sums over sequences from which committee_of() follows for documents: in which of them an
/// expert is a member, its weight, and 1 for each document with tokens.
MatrixD document_sums(const RoutedLayer& layer) {
  const Eigen::Index n = layer.num_experts;
  MatrixD sums = MatrixD::Zero(layer.num_sequences(), 2 * n + 1);
  for (Eigen::Index i = 0; i < sums.rows(); ++i) {
    const VectorD weights = layer.weights.row(i).transpose();
    if (!(weights.sum() > 0.0)) continue;
    sums.row(i).head(n) = most_loaded(weights, layer.num_selected()).transpose();
    sums.row(i).segment(n, n) = weights.transpose();
    sums(i, 2 * n) = 1.0;
  }
  return sums;
}

/// Returns the weights of each sequence in the columns of its domain, [num_sequences, domains *
/// num_experts].
MatrixD domain_sums(const RoutedLayer& layer, const TokenGroups& domains) {
  const Eigen::Index n = layer.num_experts;
  MatrixD sums = MatrixD::Zero(layer.num_sequences(), domains.num_groups * n);
  for (Eigen::Index i = 0; i < sums.rows(); ++i) {
    const std::int32_t domain = domains.group_of_unit[static_cast<std::size_t>(i)];
    sums.row(i).segment(domain * n, n) = layer.weights.row(i);
  }
  return sums;
}

Committee committee_of_domains(const VectorD& sums, Eigen::Index num_experts, std::int64_t size,
                               double fraction) {
  VectorD members = VectorD::Zero(num_experts);
  VectorD load = VectorD::Zero(num_experts);
  double groups = 0.0;
  for (Eigen::Index first = 0; first < sums.size(); first += num_experts) {
    const VectorD own = sums.segment(first, num_experts);
    if (!(own.sum() > 0.0)) continue;
    members += most_loaded(own, size);
    load += own;
    groups += 1.0;
  }
  return committee_of(members, load, groups, size, fraction);
}

void add_committee(const RoutedLayer& layer, const std::vector<NamedGroups>& groups,
                   const ExpertsOptions& options, ExpertRowsCollector& rows) {
  const Eigen::Index n = layer.num_experts;
  const std::int64_t size = layer.num_selected();
  const bool has_domains = !groups.empty() && groups.front().groups.name == "domain";
  const auto committee = [=, fraction = options.committee](const VectorD& sums) {
    if (has_domains) return committee_of_domains(sums, n, size, fraction);
    return committee_of(sums.head(n), sums.segment(n, n), sums(2 * n), size, fraction);
  };
  const auto part = [&](double Committee::*member) -> SumFunction {
    return [=](const VectorD& sums) { return committee(sums).*member; };
  };
  const auto share = static_cast<double>(size) / static_cast<double>(n);
  rows.add_of_sums("committee",
                   has_domains ? domain_sums(layer, groups.front().groups) : document_sums(layer),
                   {{"committee_size", part(&Committee::size), static_cast<double>(size)},
                    {"committee_share", part(&Committee::share), 1.0},
                    {"committee_overlap", part(&Committee::overlap), 1.0, share}});
}

void add_information(const RoutedLayer& layer, const TokenGroups& groups,
                     const ExpertsOptions& options, const UnitContext& context,
                     ExpertRowsCollector& rows) {
  const ExpertInformation found =
      expert_information(layer.experts, layer.num_experts, groups,
                         {.permutations = options.permutations, .seed = options.summary.seed},
                         context.pool, context.stop);
  const double bias = options.permutations > 0 ? found.null : 0.0;
  const std::vector<Block> blocks = blocks_of(layer, options);
  std::vector<double> without(blocks.size());
  context.pool.parallel_for(
      std::ssize(blocks),
      [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        without[at] = rounded_to_zero(
            information_without(layer.experts, layer.num_experts, groups,
                                layer.offsets[static_cast<std::size_t>(blocks[at].first)],
                                layer.offsets[static_cast<std::size_t>(blocks[at].last)]) -
            bias);
      },
      context.stop);
  ResultRow& row = rows.add_with_jackknife("information", groups.name + "_information",
                                           rounded_to_zero(found.plug_in - bias), without);
  rows.set_references(row, found.ceiling, found.null);
  if (options.permutations == 0) return;
  row.set(col::kP, found.p);
  ResultRow& experts =
      rows.add_with_jackknife("information", groups.name + "_experts", found.specialised, {});
  rows.set_references(experts, 1.0, kAlpha);
}

ResultRow load_row(std::string_view kind, const ResultRow& key, VectorD load) {
  if (const double total = load.sum(); total > 0.0) load /= total;
  return matrix_row("experts", kind, key, {load.size()}, {load.begin(), load.end()});
}

/// Adds the load of each domain or class.
void add_groups(const RoutedLayer& layer, const NamedGroups& named, ExpertRowsCollector& rows) {
  const TokenGroups& groups = named.groups;
  for (std::size_t group = 0; group < named.names.size(); ++group) {
    VectorD load = VectorD::Zero(layer.num_experts);
    for (Eigen::Index row = 0; row < layer.experts.rows(); ++row) {
      const std::int32_t unit = groups.unit_of_row[static_cast<std::size_t>(row)];
      if (unit < 0 || groups.group_of_unit[static_cast<std::size_t>(unit)] !=
                          static_cast<std::int32_t>(group)) {
        continue;
      }
      for (const std::int32_t expert : layer.experts.row(row)) load(expert) += 1.0;
    }
    if (load.sum() == 0.0) continue;
    rows.add_row(load_row("group", {{col::kGroup, groups.name}, {col::kName, named.names[group]}},
                          std::move(load)));
  }
}

void add_coactivation(const RoutedLayer& layer, const ExpertsOptions& options,
                      ExpertRowsCollector& rows) {
  if (layer.num_selected() < 2) return;
  const MatrixD counts = coactivation_counts(layer.experts, layer.num_experts);
  std::vector<double> without;
  for (const Block& block : blocks_of(layer, options)) {
    const std::int64_t first = layer.offsets[static_cast<std::size_t>(block.first)];
    const std::int64_t last = layer.offsets[static_cast<std::size_t>(block.last)];
    without.push_back(effective_partners(
        counts -
        coactivation_counts(layer.experts.middleRows(first, last - first), layer.num_experts)));
  }
  // Of experts that are selected independently of each other, with these loads.
  MatrixD independent = counts.diagonal() * counts.diagonal().transpose();
  ResultRow& row = rows.add_with_jackknife("coactivation", "effective_partners",
                                           effective_partners(counts), without);
  independent.diagonal() = counts.diagonal();
  rows.set_references(row, static_cast<double>(layer.num_experts - 1),
                      effective_partners(independent));
  if (!options.coactivation) return;
  MatrixD fractions = counts;
  for (Eigen::Index expert = 0; expert < fractions.rows(); ++expert) {
    const double own = counts(expert, expert);
    if (own > 0.0) {
      fractions.row(expert) /= own;
    } else {
      fractions.row(expert).setConstant(kNone);
    }
    fractions(expert, expert) = kNone;
  }
  rows.add_row(matrix_row("experts", "coactivation", {}, {fractions.rows(), fractions.cols()},
                          {fractions.data(), fractions.data() + fractions.size()}));
}

bool is_measure(const ResultRow& row) { return row.text(col::kKind).empty(); }

Results measures_of(Results results) {
  std::erase_if(results.rows, [](const ResultRow& row) { return !is_measure(row); });
  return results;
}

/// @param names  columns of the name
std::string block_heading(const std::vector<Column>& names, const RowPointers& rows) {
  const ResultRow& row = *rows.front();
  return fmt::format("{}, over {}", block_name(row, names), row.text(col::kOver));
}

/// Names the layers in which experts may be independent of the groups.
std::vector<std::string> remarks_on_null(const Results& results) {
  std::map<std::string, std::string> layers;
  for (const ResultRow& row : results.rows) {
    if (!is_measure(row) || !row.has(col::kP) || row.number(col::kP) <= kAlpha) continue;
    std::string& text = layers[row.text(col::kLabel) + ", " + row.text(col::kMeasure)];
    text += fmt::format("{}{} (p = {:.2g})", text.empty() ? "" : ", ", row.integer(col::kLayer),
                        row.number(col::kP));
  }
  std::vector<std::string> remarks;
  for (const auto& [name, text] : layers) {
    remarks.push_back(
        fmt::format("{}: not above that of permuted groups in layers {}", name, text));
  }
  return remarks;
}

void add_notes(Report& report, const ExpertsOptions& options) {
  report.notes.emplace_back(
      "load: selections of the experts over all tokens; entropy in nats, effective number of "
      "experts, largest and spread relative to the mean, Gini, fraction without a token");
  report.notes.emplace_back(
      "routing: of a token; entropy of the router's softmax and of the selected weights (nats), "
      "overlap: fraction of experts that the previous token selected too");
  report.notes.push_back(fmt::format(
      "committee: experts among the most loaded ones of at least {:g}% of the {}; their number, "
      "fraction of the routing weight, and how much two {} share",
      100.0 * options.committee, options.domains.empty() ? "documents" : "domains",
      options.domains.empty() ? "documents" : "domains"));
  if (options.permutations > 0) {
    report.notes.push_back(fmt::format(
        "information: mutual information (nats) of expert and group minus the mean of {} "
        "permutations, and the fraction of experts with p <= {:g} (by chance {:g})",
        options.permutations, kAlpha, kAlpha));
  } else {
    report.notes.emplace_back(
        "information: mutual information (nats) of expert and group, biased upwards; add "
        "--permutations 200");
  }
}

}  // namespace

UnitResult experts_result(const RoutedLayer& layer, const std::vector<NamedGroups>& groups,
                          const ExpertsOptions& options, const UnitContext& context) {
  ExpertRowsCollector rows(layer, options);
  add_load(layer, rows);
  add_routing(layer, rows);
  add_committee(layer, groups, options, rows);
  for (const NamedGroups& named : groups) {
    add_information(layer, named.groups, options, context, rows);
  }
  add_coactivation(layer, options, rows);
  rows.add_row(load_row("load", {}, layer.counts.colwise().sum().transpose()));
  for (const NamedGroups& named : groups) add_groups(layer, named, rows);
  context.report(layer.num_sequences(), layer.num_sequences());
  return rows.finish();
}

void fill_experts_report(Report& report, const std::vector<std::string>& inputs,
                         const ExpertsOptions& options) {
  TableLayout& layout = report.layout;
  layout.ceiling = {};
  std::vector<Column> names = {col::kGroup};
  if (inputs.size() == 1) {
    layout.series = col::kMeasure;
  } else {
    names.push_back(col::kMeasure);
  }
  layout.block = names;
  layout.block.push_back(col::kOver);
  layout.heading = [names](const RowPointers& rows) { return block_heading(names, rows); };
  report.notes.insert(report.notes.end(), inputs.begin(), inputs.end());
  add_notes(report, options);
  report.legend = fmt::format(
      "cells: value, standard deviation over sequences, [{:g}% interval over sequences]",
      100.0 * options.summary.confidence);
  report.remarks = remarks_on_null(report.results);
  report.parts = [layout](const Results& main) {
    return std::vector<ReportPart>{{pivot_table(measures_of(main), layout)}};
  };
}

}  // namespace lime
