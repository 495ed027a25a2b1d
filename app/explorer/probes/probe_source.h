// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "explorer/probes/probe_question.h"
#include "store/results_file.h"
#include "viz/figure_source.h"

namespace lime::explorer {

class Workspace;

/// A model whose probes are in open results, or an open capture that can be probed.
struct ProbeSource {
  int document = 0;               ///< in the workspace
  QString label;                  ///< that no other source has
  bool is_capture = false;        ///< its probes must be computed
  std::string own_label;          ///< in the results
  std::filesystem::path capture;  ///< where its rows lie, as far as is known
  ResultsInput input = {};        ///< of results: their record of the capture
  Json options = Json::object();  ///< stored with the results; else those by default
  std::vector<std::string> sites;
};

/// Returns results first, then captures that no results are about.
std::vector<ProbeSource> probeSources(const Workspace& workspace, ProbeQuestion question);

/// Returns the rows of `results` of this source, under its label, for figures.
/// @param path  of the source's document, for messages
FigureSource probeFigureSource(const ProbeSource& source, const std::filesystem::path& path,
                               const Results& results);

}  // namespace lime::explorer
