// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/probe_source.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "explorer/models/capture_contents.h"
#include "explorer/models/capture_locator.h"
#include "explorer/models/document.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

namespace fs = std::filesystem;

QString uniqueLabel(const QString& requested, const QString& document,
                    const std::vector<ProbeSource>& before) {
  const auto isTaken = [&](const QString& label) {
    return std::ranges::any_of(
        before, [&](const ProbeSource& probe_source) { return probe_source.label == label; });
  };
  if (!isTaken(requested)) return requested;
  if (const QString longer = u"%1 (%2)"_s.arg(requested, document);
      document != requested && !isTaken(longer)) {
    return longer;
  }
  for (int number = 2;; ++number) {
    const QString numbered = u"%1 (%2)"_s.arg(requested).arg(number);
    if (!isTaken(numbered)) return numbered;
  }
}

/// Rows of probes: neither comparisons nor the model's own judgement, which has no layers.
bool isProbeRow(const ResultRow& row) { return row.has(col::kLayer) && !row.has(col::kKind); }

void addResults(const Document& document, ProbeQuestion question,
                std::vector<ProbeSource>& sources) {
  const Results& results = document.results->results;
  if (results.metric != metricOf(question)) return;
  std::vector<ProbeSource> own;
  for (const ResultRow& row : results.rows) {
    if (!isProbeRow(row)) continue;
    const std::string& label = row.text(col::kLabel);
    auto at = std::ranges::find(own, label, &ProbeSource::own_label);
    if (at == own.end()) {
      ProbeSource source;
      source.document = document.id;
      source.own_label = label;
      source.options = results.options;
      for (const ResultsInput& input : results.inputs) {
        if (input.label != label) continue;
        source.capture = input.path;
        source.input = input;
      }
      own.push_back(std::move(source));
      at = own.end() - 1;
    }
    const std::string& site = row.text(col::kSite);
    if (!contains(at->sites, site)) at->sites.push_back(site);
  }
  for (ProbeSource& source : own) {
    source.label = uniqueLabel(toQString(source.own_label), document.label, sources);
    sources.push_back(std::move(source));
  }
}

}  // namespace

std::vector<ProbeSource> probeSources(const Workspace& workspace, ProbeQuestion question) {
  std::vector<ProbeSource> sources;
  std::set<fs::path> covered;
  for (const Document* const document : workspace.documentsOf(DocumentKind::kResults)) {
    const std::size_t before = sources.size();
    addResults(*document, question, sources);
    for (std::size_t i = before; i < sources.size(); ++i) {
      if (sources[i].capture.empty()) continue;
      for (const fs::path& place : possiblePaths(sources[i].capture, document->path)) {
        covered.insert(place);
      }
    }
  }
  for (const Document* const document : workspace.documentsOf(DocumentKind::kCapture)) {
    if (!canProbe(*document->capture, question) || covered.contains(document->path)) continue;
    ProbeSource source;
    source.document = document->id;
    source.label = uniqueLabel(document->label, document->label, sources);
    source.own_label = source.label.toStdString();
    source.is_capture = true;
    source.capture = document->path;
    source.sites = representationsOf(*document->capture);
    sources.push_back(std::move(source));
  }
  return sources;
}

FigureSource probeFigureSource(const ProbeSource& source, const fs::path& path,
                               const Results& results) {
  FigureSource figure;
  figure.path = path;
  figure.results.metric = results.metric;
  figure.results.inputs = results.inputs;
  figure.results.options = results.options;
  for (const ResultRow& row : results.rows) {
    if (!isProbeRow(row) || row.text(col::kLabel) != source.own_label) continue;
    figure.results.rows.push_back(row);
    figure.results.rows.back().set(col::kLabel, source.label.toStdString());
  }
  return figure;
}

}  // namespace lime::explorer
