// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/source_maps.h"

#include <cmath>
#include <iterator>

#include "checkpoint/router_layout.h"
#include "metrics/summary.h"

namespace lime {
namespace {

using Eigen::Index;

/// Inputs (reads) of a layer, and the layout of a row of its site.
struct SourceLayout {
  std::vector<std::string> reads;
  Index sources = 0;
  Index heads = 1;         ///< target heads, whose means are taken
  Index source_heads = 1;  ///< per source, whose weights are added

  Index width() const { return std::ssize(reads) * heads * sources * source_heads; }
};

SourceLayout layout_of(const std::string& site, const ModelConfig& config, std::int64_t layer) {
  SourceLayout layout;
  if (site == kDepthWeightsSite) {
    for (const std::string_view read : depth_reads(config, layer)) layout.reads.emplace_back(read);
    layout.sources = num_depth_sources(config, layer);
  } else {
    layout.reads = {"kv"};
    layout.sources = layer + 1;
    layout.heads = config.num_key_value_heads;
    layout.source_heads = route_width(config, layer) / layout.sources;
  }
  return layout;
}

SourceLayout checked_layout(const CaptureReader& capture, const std::string& site,
                            const ModelConfig& config, int layer) {
  const SourceLayout layout = layout_of(site, config, layer);
  if (capture.dim(site, layer) == layout.width()) return layout;
  throw FormatError("{}: {} of layer {} must have {} columns, got {}", quoted_path(capture), site,
                    layer, layout.width(), capture.dim(site, layer));
}

/// A norm by which weights are multiplied: column `weighting`, and the sources.
struct Weighting {
  std::string name = "none";
  std::optional<MixedInput> sources;
};

/// Returns the weightings of a layer whose sources the capture has, `none` first.
std::vector<Weighting> weightings_of(const CaptureReader& capture, const ModelConfig& config,
                                     const std::string& site, int layer) {
  std::vector<Weighting> weightings(1);
  const bool is_depth = site == kDepthWeightsSite;
  std::vector<std::string> reads = mixed_inputs(config);
  if (is_depth) reads = {layer + 1 == config.num_hidden_layers ? "final" : "mlp"};
  for (const std::string& read : reads) {
    const MixedInput input = mixed_input(config, read, layer);
    if (!lacking(capture, input)) weightings.push_back({is_depth ? "outputs" : read, input});
  }
  return weightings;
}

/// Multiplies the weights of all reads by the norms of their sources.
void multiply_by_norms(MatrixF& rows, const SourceLayout& layout, const MixedInput& sources,
                       const MatrixF& norms) {
  const Index width = layout.sources * layout.source_heads;
  for (Index column = 0; column < rows.cols(); ++column) {
    const Index head = column / width % layout.heads;
    const Index source =
        layout.source_heads > 1 ? column % width : column % width * sources.num_heads + head;
    if (source < norms.cols()) rows.col(column).array() *= norms.col(source).array();
  }
}

/// Means over the tokens of one sequence, and sums over all tokens, of one layer.
class SourceStatistics {
 public:
  explicit SourceStatistics(SourceLayout layout) : layout_(std::move(layout)) {
    const auto pairs = static_cast<std::size_t>(num_reads() * layout_.sources);
    weights_.resize(pairs);
    shares_.resize(pairs);
    entropies_.resize(static_cast<std::size_t>(num_reads()));
    squares_ = VectorD::Zero(static_cast<Index>(pairs));
    entropy_squares_ = VectorD::Zero(num_reads());
  }

  void add(const MatrixF& rows) {
    VectorD weight = VectorD::Zero(squares_.size());
    VectorD share = VectorD::Zero(squares_.size());
    VectorD entropy = VectorD::Zero(num_reads());
    for (Index token = 0; token < rows.rows(); ++token) {
      for (Index read = 0; read < num_reads(); ++read) {
        add_read(rows.row(token).data() + read * rows.cols() / num_reads(), read, weight, share,
                 entropy);
      }
    }
    const auto tokens = static_cast<double>(rows.rows());
    num_tokens_ += tokens;
    for (Index i = 0; i < weight.size(); ++i) {
      weights_[static_cast<std::size_t>(i)].push_back(weight(i) / tokens);
      shares_[static_cast<std::size_t>(i)].push_back(share(i) / tokens);
    }
    for (Index read = 0; read < num_reads(); ++read) {
      entropies_[static_cast<std::size_t>(read)].push_back(entropy(read) / tokens);
    }
    tokens_.push_back(tokens);
  }

  std::vector<ResultRow> rows(std::uint64_t seed, const std::string& weighting) const {
    const std::vector<Summary> weights = summarize_together(weights_, {.seed = seed});
    const std::vector<Summary> entropies = summarize_together(entropies_, {.seed = seed});
    std::vector<ResultRow> rows;
    for (Index read = 0; read < num_reads(); ++read) {
      const auto r = static_cast<std::size_t>(read);
      const double entropy = over_tokens(entropies_[r]);
      rows.push_back({{col::kKind, "read"},
                      {col::kWeighting, weighting},
                      {col::kRead, layout_.reads[r]},
                      {col::kEntropy, entropy},
                      {col::kStd, deviation(entropy_squares_(read), entropy)},
                      {col::kCiLow, entropies[r].ci_low},
                      {col::kCiHigh, entropies[r].ci_high},
                      {col::kEffectiveSources, std::exp(entropy)},
                      {col::kShareEmbedding,
                       over_tokens(shares_[static_cast<std::size_t>(read * layout_.sources)])}});
    }
    for (Index i = 0; i < squares_.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double weight = over_tokens(weights_[at]);
      rows.push_back({{col::kKind, "source_map"},
                      {col::kWeighting, weighting},
                      {col::kRead, layout_.reads[static_cast<std::size_t>(i / layout_.sources)]},
                      {col::kSource, i % layout_.sources},
                      {col::kWeight, weight},
                      {col::kStd, deviation(squares_(i), weight)},
                      {col::kCiLow, weights[at].ci_low},
                      {col::kCiHigh, weights[at].ci_high},
                      {col::kShare, over_tokens(shares_[at])}});
    }
    return rows;
  }

 private:
  Index num_reads() const { return std::ssize(layout_.reads); }

  /// Adds the weights of one token: means over target heads, sums over the heads of a source.
  void add_read(const float* values, Index read, VectorD& weight, VectorD& share,
                VectorD& entropy) {
    const Index sources = layout_.sources;
    VectorD signed_sum = VectorD::Zero(sources);
    double read_entropy = 0.0;
    for (Index head = 0; head < layout_.heads; ++head) {
      VectorD size = VectorD::Zero(sources);
      for (Index source = 0; source < sources; ++source) {
        for (Index i = 0; i < layout_.source_heads; ++i) {
          const auto value = static_cast<double>(*values++);
          signed_sum(source) += value;
          size(source) += std::abs(value);
        }
      }
      if (size.sum() == 0.0) continue;
      size /= size.sum();
      share.segment(read * sources, sources) += size / static_cast<double>(layout_.heads);
      for (const double part : size) read_entropy -= part > 0.0 ? part * std::log(part) : 0.0;
    }
    signed_sum /= static_cast<double>(layout_.heads);
    read_entropy /= static_cast<double>(layout_.heads);
    weight.segment(read * sources, sources) += signed_sum;
    squares_.segment(read * sources, sources) += signed_sum.cwiseAbs2();
    entropy(read) += read_entropy;
    entropy_squares_(read) += read_entropy * read_entropy;
  }

  /// Returns the mean over all tokens of a quantity from its means over those of each sequence.
  double over_tokens(const std::vector<double>& means) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < means.size(); ++i) sum += means[i] * tokens_[i];
    return sum / num_tokens_;
  }
  double deviation(double square, double mean) const {
    return std::sqrt(std::max(0.0, square / num_tokens_ - mean * mean));
  }

  SourceLayout layout_;
  std::vector<std::vector<double>> weights_, shares_, entropies_;  // per sequence
  VectorD squares_, entropy_squares_;                              // over all tokens
  std::vector<double> tokens_;                                     // per sequence
  double num_tokens_ = 0.0;
};

/// Returns the shares of all layers: one row per layer and read, the means of reads of attention.
MatrixD share_map(const Results& results, const std::string& site, const ModelConfig& config,
                  const std::string& weighting) {
  const bool is_depth = site == kDepthWeightsSite;
  const Index layers = config.num_hidden_layers;
  const Index size = is_depth ? 2 * layers + 1 : layers;
  MatrixD map = MatrixD::Constant(size, size, std::numeric_limits<double>::quiet_NaN());
  for (const ResultRow* row :
       rows_with(results.rows, {{col::kKind, "source_map"}, {col::kWeighting, weighting}})) {
    const std::string& read = row->text(col::kRead);
    const Index layer = row->integer(col::kLayer);
    const Index source = row->integer(col::kSource);
    Index line = layer;
    if (is_depth) line = read == "final" ? 2 * layers : 2 * layer + (read == "mlp" ? 1 : 0);
    if (is_depth && source > line) continue;
    const bool is_split = read == "q" || read == "k" || read == "v";
    double& cell = map(line, source);
    cell = (std::isnan(cell) ? 0.0 : cell) + row->number(col::kShare) / (is_split ? 3.0 : 1.0);
  }
  return map;
}

}  // namespace

std::vector<Unit> source_units(const CaptureReader& capture, const ModelConfig& config,
                               const std::string& label, std::int64_t count, std::uint64_t seed) {
  const std::string site = source_site(config);
  const std::vector<std::string> sites = capture.sites();
  throw_if(std::ranges::find(sites, site) == sites.end(),
           "{}: lacks the weights of the routers of '{}'; capture again with --sites {}",
           quoted_path(capture), config.name(), site);
  check_whole_sequences(capture, "router");
  std::vector<Unit> units;
  for (const int layer : capture.layers(site)) {
    const SourceLayout layout = checked_layout(capture, site, config, layer);
    Unit unit;
    unit.key = {{col::kLabel, label}, {col::kSite, site}, {col::kLayer, layer}};
    unit.where = fmt::format("{}: layer {}", quoted_path(capture), layer);
    unit.work = std::max<std::int64_t>(count, 1);
    unit.bytes = longest_sequence(capture, count) * layout.width() * 4 +
                 count * layout.width() * 2 * 8 + summary_bytes(layout.width(), {});
    const std::vector<Weighting> weightings = weightings_of(capture, config, site, layer);
    unit.measure = [&capture, layout, weightings, site, layer, count,
                    seed](const UnitContext& context) {
      const SequenceSource sequences = token_sequences(capture, site, layer, count);
      std::vector<SourceStatistics> statistics(weightings.size(), SourceStatistics(layout));
      MatrixF rows;
      for (std::int64_t i = 0; i < count; ++i) {
        throw_if_stopped(context.stop);
        sequences.read(i, rows);
        for (std::size_t w = 0; w < weightings.size(); ++w) {
          MatrixF weighted = rows;
          if (const std::optional<MixedInput>& sources = weightings[w].sources) {
            const std::int64_t first = capture.offsets()[static_cast<std::size_t>(i)];
            multiply_by_norms(weighted, layout, *sources,
                              source_norms(capture, *sources, first, rows.rows()));
          }
          statistics[w].add(weighted);
        }
        context.report(i + 1, count);
      }
      UnitResult result;
      for (std::size_t w = 0; w < weightings.size(); ++w) {
        std::ranges::move(statistics[w].rows(seed, weightings[w].name),
                          std::back_inserter(result.rows));
      }
      return result;
    };
    units.push_back(std::move(unit));
  }
  return units;
}

std::vector<ResultRow> plain_source_rows(const ModelConfig& config, std::int64_t layer) {
  std::vector<ResultRow> rows;
  for (const std::string_view read : depth_reads(config, layer)) {
    const std::int64_t sources = num_sources_read(config, read, layer);
    for (std::int64_t source = 0; source < sources; ++source) {
      rows.push_back({{col::kKind, "source_map"},
                      {col::kWeighting, "none"},
                      {col::kSite, kDepthWeightsSite},
                      {col::kRead, std::string(read)},
                      {col::kSource, source},
                      {col::kWeight, 1.0},
                      {col::kShare, 1.0 / static_cast<double>(sources)}});
    }
  }
  return rows;
}

MatrixD source_shares(const CaptureReader& capture, const ModelConfig& config,
                      std::span<const std::int64_t> rows, const std::stop_token& stop) {
  constexpr std::int64_t kChunk = 4096;
  const std::string site = source_site(config);
  Results results;
  for (int layer = 0; layer < config.num_hidden_layers; ++layer) {
    std::vector<ResultRow> own;
    if (site.empty()) {
      own = plain_source_rows(config, layer);
    } else if (capture.has(site, layer)) {
      SourceStatistics statistics(checked_layout(capture, site, config, layer));
      for (std::int64_t row = 0; row < capture.num_rows() && rows.empty(); row += kChunk) {
        throw_if_stopped(stop);
        statistics.add(
            capture.read_rows(site, layer, row, std::min(kChunk, capture.num_rows() - row)));
      }
      for (const std::int64_t row : rows) statistics.add(capture.read_rows(site, layer, row, 1));
      own = statistics.rows(0, "none");
    }
    for (ResultRow& row : own) {
      results.rows.push_back(std::move(row));
      results.rows.back().set(col::kLayer, layer);
    }
  }
  return share_map(results, site.empty() ? kDepthWeightsSite : site, config, "none");
}

namespace {

std::vector<TableColumn> terminal_columns() {
  return {table_column(col::kLayer),
          table_column(col::kWeighting),
          table_column(col::kRead),
          number_column(col::kEntropy, 3),
          number_column(col::kStd, 3),
          number_column(col::kCiLow, 3),
          number_column(col::kCiHigh, 3),
          number_column(col::kEffectiveSources, 2, "eff sources"),
          number_column(col::kShareEmbedding, 1, "source 0 %", 100.0)};
}

std::vector<TableColumn> paper_columns() {
  return {table_column(col::kLayer, "Layer"), table_column(col::kRead, "Read"),
          number_column(col::kEntropy, 3, "Entropy"),
          number_column(col::kEffectiveSources, 2, "Sources")};
}

}  // namespace

void fill_source_report(Report& report, const std::string& label, const ModelConfig& config) {
  const std::string site = source_site(config);
  const bool is_depth = site == kDepthWeightsSite;
  report.notes.push_back(fmt::format("{}: {}, {} layers, weights of {}", label, config.name(),
                                     config.num_hidden_layers, site));
  report.notes.emplace_back(
      is_depth
          ? "shares of the sources in the inputs of attention and MLP from the residual stream, "
            "unrolled; source 0: embedding, 1 + 2 l and 2 + 2 l: attention and MLP of layer l; "
            "last row: final norm"
          : "shares of the layers in the keys and values that each layer reads");
  std::vector<std::string> weightings;
  for (const ResultRow* row : rows_with(report.results.rows, {{col::kKind, "read"}})) {
    const std::string& name = row->text(col::kWeighting);
    if (std::ranges::find(weightings, name) == weightings.end()) weightings.push_back(name);
  }
  if (weightings.size() == 1) {
    report.notes.push_back(fmt::format(
        "weights only; for maps weighted by the norms of the sources, capture with --sites {}",
        sites_of(mixed_input(config, mixed_inputs(config).front(), config.num_hidden_layers - 1))));
  }
  report.parts = [site, config, weightings](const Results& results) {
    std::vector<ReportPart> parts;
    for (const std::string& weighting : weightings) {
      const std::string title = fmt::format(
          "shares{} in percent, rows: inputs, columns: sources",
          weighting == "none" ? "" : fmt::format(" of weight times norm of the {}", weighting));
      parts.push_back({TextMap{title, share_map(results, site, config, weighting)}});
    }
    const RowPointers reads = rows_with(results.rows, {{col::kKind, "read"}});
    const RowPointers unweighted =
        rows_with(results.rows, {{col::kKind, "read"}, {col::kWeighting, "none"}});
    parts.push_back({column_table(reads, terminal_columns()), ShownIn::kTerminal});
    parts.push_back({column_table(unweighted, paper_columns()), ShownIn::kPaper});
    return parts;
  };
}

}  // namespace lime
