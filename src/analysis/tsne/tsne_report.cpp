// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne/tsne_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "analysis/report/column_table.h"
#include "analysis/tsne/tsne_embeddings.h"
#include "core/program/suggest.h"
#include "core/utf8.h"

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
                                     results_number(results.rows.at(next), "kl_divergence")});
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
      const Json& key = results.rows.at(row);
      list.push_back({{"label", key.at("label")},
                      {"site", key.at("site")},
                      {"layer", key.at("layer")},
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
  std::vector<std::string> counts;
  for (std::size_t id = 0; id < rows.class_names.size(); ++id) {
    const std::int64_t count = rows.count(static_cast<std::int16_t>(id));
    if (count > 0) counts.push_back(fmt::format("'{}' {}", printable(rows.class_names[id]), count));
  }
  if (!counts.empty()) text += fmt::format("; {}", join_words(counts));
  if (!capture.reader.complete()) text += " (incomplete: the capture was interrupted)";
  return text;
}

bool has_equal_rows(const Json& row) {
  return results_number(row, "distinct") < results_number(row, "points");
}

std::vector<TableColumn> columns_of(const Results& results) {
  std::vector<TableColumn> columns = {
      {.header = "capture", .cell = text_cell("label"), .to_the_right = false},
      {.header = "site", .cell = text_cell("site"), .to_the_right = false},
      {.header = "layer", .cell = number_cell("layer", 0)},
      {.header = "points", .cell = number_cell("points", 0)}};
  if (std::any_of(results.rows.begin(), results.rows.end(), has_equal_rows)) {
    columns.push_back({.header = "distinct", .cell = number_cell("distinct", 0)});
  }
  columns.push_back({.header = "KL", .cell = number_cell("kl_divergence", 4)});
  columns.push_back({.header = "trust", .cell = number_cell("trustworthiness", 4)});
  columns.push_back({.header = "recall", .cell = number_cell("recall", 3)});
  if (std::any_of(results.rows.begin(), results.rows.end(),
                  [](const Json& row) { return row.contains("moved"); })) {
    columns.push_back({.header = "moved", .cell = number_cell("moved", 3)});
  }
  columns.push_back({.header = "iterations", .cell = number_cell("iterations", 0)});
  columns.push_back({.header = "end", .cell = text_cell("end"), .to_the_right = false});
  columns.push_back({.header = "repulsion", .cell = text_cell("repulsion"), .to_the_right = false});
  return columns;
}

}  // namespace

std::string embedding_name(int layer) { return fmt::format("embedding/{}", layer); }
std::string seconds_name(int layer) { return fmt::format("seconds/{}", layer); }

Report make_tsne_report(Results results, const std::vector<ChosenCapture>& captures,
                        const std::vector<ClassRows>& rows, std::span<const UnitResult> units) {
  const auto embeddings = std::make_shared<const std::vector<CaptureEmbeddings>>(
      collect(results, captures, rows, units));
  results.provenance["tsne_seconds"] = seconds_of(results, units);
  Report report;
  report.notes.push_back(
      "t-SNE; KL: Kullback-Leibler divergence of the embedding over all pairs; trust: "
      "trustworthiness of the neighbours");
  if (std::any_of(results.rows.begin(), results.rows.end(), has_equal_rows)) {
    report.notes.push_back(
        "distinct: number of distinct rows among the points; equal rows share one point");
  }
  for (std::size_t i = 0; i < captures.size(); ++i) {
    report.notes.push_back(describe_rows(captures[i], rows[i]));
  }
  report.results = std::move(results);
  report.text = [](const Results& all, const TextStyle& style) {
    return columns_to_text(pointers_to(all.rows), columns_of(all), style);
  };
  report.latex = [](const Results& all, const std::vector<std::string>& notes) {
    return columns_to_latex(pointers_to(all.rows), columns_of(all), notes);
  };
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
  return report;
}

}  // namespace lime
