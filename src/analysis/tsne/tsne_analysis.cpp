// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne/tsne_analysis.h"

#include <cmath>
#include <mutex>
#include <set>

#include "analysis/engine/run_analysis.h"
#include "analysis/tsne/embedding_alignment.h"
#include "core/files/atomic_file.h"
#include "core/files/sha256.h"
#include "core/utf8.h"
#include "metrics/summary.h"
#include "metrics/tsne/embedding_checks.h"
#include "metrics/tsne/initialization.h"
#include "metrics/tsne/trustworthiness.h"

namespace lime {
namespace {

/// Collects the embeddings of all units, in the order of captures, sites and layers.
std::vector<const MatrixD*> embeddings_of(std::span<const UnitResult> units) {
  std::vector<const MatrixD*> embeddings;
  for (const UnitResult& unit : units) {
    for (const NamedMatrix& matrix : unit.matrices) {
      if (matrix.name.starts_with("embedding/")) embeddings.push_back(&matrix.values);
    }
  }
  return embeddings;
}

std::vector<CaptureEmbeddings> collect(const Results& results,
                                       const std::vector<ChosenCapture>& captures,
                                       const std::vector<ClassRows>& rows,
                                       std::span<const UnitResult> units) {
  const std::vector<const MatrixD*> embeddings = embeddings_of(units);
  std::vector<CaptureEmbeddings> all;
  std::size_t next = 0;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    CaptureEmbeddings of_capture = points_of(captures[i].label, captures[i].reader, rows[i]);
    for (const auto& [site, layers] : captures[i].parts) {
      for (const int layer : layers) {
        of_capture.layers.push_back({site, layer, embeddings.at(next)->cast<float>(),
                                     results.rows.at(next).number(col::kKlDivergence)});
        ++next;
      }
    }
    all.push_back(std::move(of_capture));
  }
  return all;
}

Json seconds_of(const Results& results, std::span<const UnitResult> units) {
  Json list = Json::array();
  std::size_t row = 0;
  for (const UnitResult& unit : units) {
    for (std::size_t i = 1; i < unit.matrices.size(); i += 2, ++row) {
      const MatrixD& seconds = unit.matrices[i].values;
      const ResultRow& key = results.rows.at(row);
      list.push_back({{"label", key.text(col::kLabel)},
                      {"site", key.text(col::kSite)},
                      {"layer", key.integer(col::kLayer)},
                      {"neighbors", seconds(0, 0)},
                      {"affinities", seconds(0, 1)},
                      {"optimization", seconds(0, 2)}});
    }
  }
  return list;
}

std::string describe_rows(const ChosenCapture& capture, const ClassRows& rows) {
  std::string text =
      fmt::format("{}: {} points, {}", capture.label, rows.size(), capture.reader.path().string());
  if (rows.size() < rows.available) text += fmt::format(" (a sample of {})", rows.available);
  if (const std::string counts = rows.counts_text(); !counts.empty()) text += "; " + counts;
  if (!capture.reader.complete()) text += " (incomplete: the capture was interrupted)";
  return text;
}

bool has_equal_rows(const ResultRow& row) {
  return row.number(col::kDistinct) < row.number(col::kPoints);
}

/// Writes one line per point and layer. @throws IoError
void write_embeddings_csv(const std::filesystem::path& path,
                          const std::vector<CaptureEmbeddings>& captures) {
  write_file_atomically(path, [&](std::ostream& out) {
    out << "label,site,layer,row,sequence,position,token,class,x,y\n";
    for (const CaptureEmbeddings& capture : captures) {
      for (const LayerEmbedding& layer : capture.layers) {
        const std::string front =
            fmt::format("{},{},{}", csv_cell(capture.label), csv_cell(layer.site), layer.layer);
        for (std::int64_t i = 0; i < capture.size(); ++i) {
          const auto at = static_cast<std::size_t>(i);
          const std::int16_t id = capture.table.class_id[at];
          out << fmt::format(
              "{},{},{},{},{},{},{},{}\n", front, capture.row[at], capture.table.sequence[at],
              capture.table.position[at], capture.table.token[at],
              id < 0 ? "" : csv_cell(capture.class_names[static_cast<std::size_t>(id)]),
              layer.coordinates(i, 0), layer.coordinates(i, 1));
        }
      }
    }
  });
}

/// Bytes of trees and tables in addition to points and affinities.
constexpr std::int64_t kWorkspaceBytes = std::int64_t{64} << 20;
/// Per point and neighbour: indices, distances, affinities in double and float, while merged.
constexpr std::int64_t kBytesPerNeighbor = 100;
/// Per value of a point: the row, and the same packed for products.
constexpr std::int64_t kBytesPerValue = 12;

struct Shared {
  TsneAnalysisOptions options;  ///< with the seed
  std::vector<ChosenCapture> captures;
  std::vector<ClassRows> rows;  ///< of each capture
  LayerEmbeddingFn on_layer;    ///< may be empty
  std::mutex on_layer_mutex;
};

/// Hands a layer over, one at a time.
void hand_over(Shared& shared, std::size_t capture, const LayerEmbedding& layer) {
  if (!shared.on_layer) return;
  const std::scoped_lock lock(shared.on_layer_mutex);
  shared.on_layer(capture, layer);
}

/// Tells whether the same tokens of the same text are drawn.
std::string identity_of(const ChosenCapture& capture, const ClassRows& rows) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(rows.row)));
  hash.update(std::as_bytes(std::span(rows.class_id)));
  return capture.identity + " " + hash.hex_digest();
}

/// Rows of length 1; rows of zeros stay, as in scikit-learn.
void normalize_rows(MatrixF& points) {
  for (Eigen::Index r = 0; r < points.rows(); ++r) {
    const double norm = points.row(r).cast<double>().norm();
    if (norm > 0.0) points.row(r) = (points.row(r).cast<double>() / norm).cast<float>();
  }
}

/// Mean displacement between two embeddings, in units of the second one's root mean square radius.
double mean_way(const MatrixD& before, const MatrixD& after) {
  const double radius = radius_of(after);
  const MatrixD centred = after.rowwise() - after.colwise().mean();
  const MatrixD from = before.rowwise() - before.colwise().mean();
  return radius > 0.0 ? (centred - from).rowwise().norm().mean() / radius : 0.0;
}

std::int64_t count_distinct(const MatrixF& points) {
  std::vector<std::span<const float>> rows;
  for (Eigen::Index r = 0; r < points.rows(); ++r) {
    rows.emplace_back(points.row(r).data(), static_cast<std::size_t>(points.cols()));
  }
  std::ranges::sort(rows, [](const auto& a, const auto& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  });
  const auto last = std::unique(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::equal(a.begin(), a.end(), b.begin());
  });
  return last - rows.begin();
}

std::int64_t num_classes(const ClassRows& rows) {
  std::set<std::int16_t> classes(rows.class_id.begin(), rows.class_id.end());
  classes.erase(-1);
  return std::ssize(classes);
}

/// @throws NumericalError  if the embedding differs from that of the previous layer by orders of
/// magnitude.
void check_move(const MatrixD& before, const MatrixD& after) {
  const std::string fault = radius_fault(before, after);
  throw_if<NumericalError>(!fault.empty(),
                           "tsne: the optimisation diverged: {}; use the default learning rate, or "
                           "embed without --align",
                           fault);
}

ResultRow row_of(const TsneResult& result, double trust, const MatrixF& points,
                 const ClassRows& rows, const TsneAnalysisOptions& options) {
  return {{col::kPoints, rows.size()},
          {col::kDistinct, count_distinct(points)},
          {col::kClasses, num_classes(rows)},
          {col::kDim, points.cols()},
          {col::kPerplexity, options.tsne.perplexity},
          {col::kKlDivergence, result.kl_divergence},
          {col::kTrustworthiness, trust},
          {col::kRecall, result.recall},
          {col::kIterations, result.iterations},
          {col::kEnd, enum_name(result.end)},
          {col::kGradNorm, result.grad_norm},
          {col::kRepulsion, enum_name(result.repulsion)},
          {col::kSearch, enum_name(result.search)},
          {col::kLearningRate, options.tsne.learning_rate_for(rows.size())},
          {col::kEarlyExaggeration, options.tsne.early_exaggeration},
          {col::kSeed, options.tsne.seed}};
}

/// Embeds one layer, adds its row and matrices to `result`, and returns the embedding.
/// @param before  the embedding to start from and to compare with; empty: none.
MatrixD measure_layer(const Shared& shared, std::size_t capture_index, const std::string& site,
                      int layer, const MatrixD& before, const UnitContext& context,
                      const TsneStepFn& on_step, UnitResult& result) {
  const CaptureReader& capture = shared.captures[capture_index].reader;
  const ClassRows& rows = shared.rows[capture_index];
  MatrixF points = read_class_rows(capture, site, layer, rows);
  if (shared.options.normalize == RowNormalization::kL2) normalize_rows(points);
  std::optional<MatrixD> start;
  if (before.rows() > 0) start = rescaled_initialization(before);
  TsneResult embedded =
      tsne(points, shared.options.tsne, context.pool, start, on_step, context.stop);
  if (start) {
    check_move(before, embedded.embedding);
    embedded.embedding = aligned_embedding(embedded.embedding, before);
  }
  std::vector<double> trust = trustworthiness_of_points(
      points, embedded.embedding,
      {.num_neighbors = shared.options.trust_neighbors, .seed = shared.options.tsne.seed},
      context.pool, context.stop);
  ResultRow row = row_of(embedded, mean_of(trust), points, rows, shared.options);
  result.samples.push_back(
      {.key = shared.options.align ? ResultRow{{col::kLayer, layer}} : ResultRow{},
       .quantity = "trustworthiness",
       .items = "points",
       .values = std::move(trust)});
  if (before.rows() > 0) row.set(col::kMoved, mean_way(before, embedded.embedding));
  result.rows.push_back(std::move(row));
  MatrixD seconds(1, 3);
  seconds << embedded.neighbors_seconds, embedded.affinities_seconds, embedded.optimization_seconds;
  result.matrices.push_back({fmt::format("embedding/{}", layer), embedded.embedding});
  result.matrices.push_back({fmt::format("seconds/{}", layer), seconds});
  return embedded.embedding;
}

/// Counts the iterations of one layer after those of the layers before it.
TsneStepFn count_steps(const UnitContext& context, std::int64_t before, std::int64_t total) {
  return [&context, before, total](const TsneStep& step) {
    context.report(before + step.iteration, total);
    return true;
  };
}

std::int64_t bytes_for(const ChosenCapture& capture, const std::string& site, int layer,
                       std::int64_t points, const TsneOptions& options) {
  return points * capture.reader.dim(site, layer) * kBytesPerValue +
         points * options.num_neighbors(points) * kBytesPerNeighbor + kWorkspaceBytes;
}

/// The layers of a part: one, or with `align` all of a site, each started from the one before.
Unit unit_of(const std::shared_ptr<Shared>& shared, std::size_t i,
             const ChosenCapture::Part& part) {
  const ChosenCapture& capture = shared->captures[i];
  const TsneAnalysisOptions& options = shared->options;
  Unit unit = layer_unit(capture, part.site, part.layers.front());
  if (options.align) {
    unit.key.erase(col::kLayer);
    unit.where = fmt::format("'{}': site '{}'", capture.reader.path().string(), part.site);
  }
  unit.work = options.tsne.iterations * std::ssize(part.layers);
  unit.identity = identity_of(capture, shared->rows[i]);
  for (const int layer : part.layers) {
    unit.bytes = std::max(
        unit.bytes, bytes_for(capture, part.site, layer, shared->rows[i].size(), options.tsne));
  }
  unit.measure = [shared, i, part, total = unit.work](const UnitContext& context) {
    UnitResult result;
    MatrixD before;
    std::int64_t done = 0;
    for (const int layer : part.layers) {
      try {
        before = measure_layer(*shared, i, part.site, layer, before, context,
                               count_steps(context, done, total), result);
      } catch (const InvalidArgument& error) {
        if (!shared->options.align) throw;
        throw prefixed(fmt::format("layer {}", layer), error);
      } catch (const NumericalError& error) {
        if (!shared->options.align) throw;
        throw prefixed(fmt::format("layer {}", layer), error);
      }
      ResultRow row = {{col::kLayer, layer}};
      row.add(result.rows.back());
      hand_over(
          *shared, i,
          {part.site, layer, before.cast<float>(), result.rows.back().number(col::kKlDivergence)});
      result.rows.back() = std::move(row);
      done += shared->options.tsne.iterations;
    }
    return result;
  };
  return unit;
}

std::vector<Unit> make_units(const std::shared_ptr<Shared>& shared) {
  std::vector<Unit> units;
  for (std::size_t i = 0; i < shared->captures.size(); ++i) {
    for (const ChosenCapture::Part& part : shared->captures[i].parts) {
      if (shared->options.align) {
        units.push_back(unit_of(shared, i, part));
        continue;
      }
      for (const int layer : part.layers) units.push_back(unit_of(shared, i, {part.site, {layer}}));
    }
  }
  return units;
}

/// Fills the report: the table, and the files with the coordinates; stores seconds in the
/// provenance.
void fill_tsne_report(Report& report, const std::vector<ChosenCapture>& captures,
                      const std::vector<ClassRows>& rows, std::span<const UnitResult> units) {
  const auto embeddings = std::make_shared<const std::vector<CaptureEmbeddings>>(
      collect(report.results, captures, rows, units));
  report.results.provenance["tsne_seconds"] = seconds_of(report.results, units);
  report.notes.push_back(
      "t-SNE; KL: Kullback-Leibler divergence of the embedding over all pairs; trust: "
      "trustworthiness of the neighbours");
  report.columns = {table_column(col::kLabel, "capture"),
                    table_column(col::kSite),
                    table_column(col::kLayer),
                    table_column(col::kPoints),
                    table_column(col::kDistinct),
                    number_column(col::kKlDivergence, 4, "KL"),
                    number_column(col::kTrustworthiness, 4, "trust"),
                    number_column(col::kRecall, 3),
                    number_column(col::kMoved, 3),
                    number_column(col::kIterations, 0),
                    table_column(col::kEnd),
                    table_column(col::kRepulsion)};
  if (std::ranges::any_of(report.results.rows, has_equal_rows)) {
    report.notes.push_back(
        "distinct: number of distinct rows among the points; equal rows share one point");
  } else {
    std::erase_if(report.columns,
                  [](const TableColumn& column) { return column.source == col::kDistinct; });
  }
  for (std::size_t i = 0; i < captures.size(); ++i) {
    report.notes.push_back(describe_rows(captures[i], rows[i]));
  }
  report.companions = {
      {.suffix = ".embeddings.h5",
       .beside = {ResultsFormat::kJson, ResultsFormat::kTable, ResultsFormat::kLatex},
       .write = [embeddings](
                    const std::filesystem::path& path) { write_embeddings(path, *embeddings); }},
      {.suffix = ".embeddings.csv",
       .beside = {ResultsFormat::kCsv},
       .write = [embeddings](const std::filesystem::path& path) {
         write_embeddings_csv(path, *embeddings);
       }}};
}

/// Opens the captures and selects the rows that become points.
std::shared_ptr<Shared> select_points(const TsneAnalysisOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<Shared>();
  shared->options = options;
  shared->options.tsne.seed = run.seed;
  shared->captures = open_captures(options.captures);
  for (const ChosenCapture& capture : shared->captures) {
    shared->rows.push_back(
        select_class_rows(capture.reader, {.classes = options.classes,
                                           .max_per_class = options.max_per_class,
                                           .max_rows = options.max_points,
                                           .seed = run.seed}));
    const std::int64_t points = shared->rows.back().size();
    try {
      shared->options.tsne.validate(points);
      TrustworthinessOptions{.num_neighbors = options.trust_neighbors}.validate(points);
    } catch (const InvalidArgument& error) {
      throw prefixed(quoted_path(capture.reader), error);
    }
  }
  return shared;
}

/// Says before a long run how long it takes; empty if it is short.
std::string announcement_of(const Shared& shared) {
  constexpr double kSecondsPerPoint = 1.9e-3;  // two cores, 51,200 points of 576 dimensions
  constexpr double kLongSeconds = 180.0;
  double seconds = 0.0;
  for (std::size_t i = 0; i < shared.captures.size(); ++i) {
    for (const ChosenCapture::Part& part : shared.captures[i].parts) {
      const auto points = static_cast<double>(shared.rows[i].row.size());
      seconds += kSecondsPerPoint * points * static_cast<double>(part.layers.size());
    }
  }
  if (seconds < kLongSeconds) return {};
  return fmt::format(
      "two cores need about {:.0f} minutes for all points of all layers; --layer selects layers, "
      "--max-points N embeds a sample",
      seconds / 60.0);
}

Analysis analysis_of_points(const std::shared_ptr<Shared>& shared, const RunOptions& run) {
  Analysis analysis = analysis_of("tsne", shared->options, shared->captures);
  analysis.units = make_units(shared);
  if (std::string line = announcement_of(*shared); !line.empty()) {
    analysis.warnings.push_back(std::move(line));
  }
  // Runs side by side share nothing and need not wait for each other.
  analysis.threads = threads_for(analysis.units, run);
  analysis.present = [shared](Report& report, std::span<const UnitResult> units) {
    fill_tsne_report(report, shared->captures, shared->rows, units);
  };
  return analysis;
}

}  // namespace

CaptureEmbeddings points_of(const std::string& label, const CaptureReader& capture,
                            const ClassRows& rows) {
  const RowTable& all = capture.rows();
  CaptureEmbeddings points;
  points.label = label;
  points.row = rows.row;
  for (const std::int64_t row : rows.row) {
    const auto at = static_cast<std::size_t>(row);
    points.table.sequence.push_back(all.sequence[at]);
    points.table.position.push_back(all.position[at]);
    points.table.token.push_back(all.token[at]);
  }
  points.table.class_id = rows.class_id;
  points.class_names = rows.class_names;
  return points;
}

void TsneAnalysisOptions::describe(OptionList& list) {
  captures.describe(list);
  captures.describe_skip_outliers(list);
  list.add("class", classes,
           "use only rows of these classes, named as for lime-capture --only, e.g. is,are");
  list.add("max_per_class", max_per_class, "use only the first N rows of each class");
  list.add("max_points", max_points, "maximum number of rows; a random sample if there are more");
  list.add("normalize", normalize, "normalisation of the rows: l2 (unit length) or none");
  list.group("t-SNE");
  tsne.describe(list);
  list.add("align", align,
           "initialise each layer with the embedding of the previous one, to follow points across "
           "layers");
  list.add("trust_neighbors", trust_neighbors,
           "number of neighbours for the trustworthiness, >= 1");
}

void TsneAnalysisOptions::validate() const {
  captures.validate();
  ClassRowsOptions{.max_per_class = max_per_class}.validate();
  require_positive("max_points", max_points);
  tsne.validate();
  check_option(trust_neighbors >= 1, "trust_neighbors", ">= 1", trust_neighbors);
}

Analysis prepare_tsne(const TsneAnalysisOptions& options, const RunOptions& run) {
  return analysis_of_points(select_points(options, run), run);
}

TsneEmbeddings compute_embeddings(const TsneAnalysisOptions& options, const RunOptions& run,
                                  const ProgressFn& on_progress, const std::stop_token& stop,
                                  const LayerEmbeddingFn& on_layer) {
  const auto shared = select_points(options, run);
  shared->on_layer = on_layer;
  const AnalysisResult result = compute(analysis_of_points(shared, run), run, on_progress, stop);
  return {result.table(), collect(result.results, shared->captures, shared->rows, result.units)};
}

std::vector<CaptureEmbeddings> principal_components(const TsneAnalysisOptions& options,
                                                    const RunOptions& run,
                                                    const std::stop_token& stop) {
  const auto shared = select_points(options, run);
  ThreadPool pool(run.num_threads());
  std::vector<CaptureEmbeddings> all;
  for (std::size_t i = 0; i < shared->captures.size(); ++i) {
    const ChosenCapture& capture = shared->captures[i];
    all.push_back(points_of(capture.label, capture.reader, shared->rows[i]));
    for (const auto& [site, layers] : capture.parts) {
      for (const int layer : layers) {
        throw_if_stopped(stop);
        MatrixF points = read_class_rows(capture.reader, site, layer, shared->rows[i]);
        if (options.normalize == RowNormalization::kL2) normalize_rows(points);
        const MatrixD plane = pca_initialization(points, run.seed, pool);
        all.back().layers.push_back({site, layer, plane.cast<float>(), 0.0});
      }
    }
  }
  return all;
}

}  // namespace lime
