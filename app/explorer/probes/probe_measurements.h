// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <vector>

#include "explorer/models/job_cache.h"
#include "explorer/models/preferences.h"
#include "explorer/probes/probe_detail.h"
#include "explorer/probes/probe_question.h"
#include "explorer/probes/probe_source.h"
#include "store/results_file.h"
#include "viz/figure_source.h"

namespace lime::explorer {

class Workspace;

/// Fits the probes of all open captures, layer by layer, in jobs, and takes those of open results
/// as they are; fits one of them again in detail. Lives on the GUI thread.
class ProbeMeasurements : public QObject {
  Q_OBJECT

 public:
  using Detail = std::shared_ptr<const ProbeDetail>;
  using Place = ProbePlace;

  ProbeMeasurements(Workspace& workspace, JobRunner& jobs, const Preferences& preferences);

  std::vector<ProbeSource> sources(ProbeQuestion question) const;

  /// Starts what is missing of the open captures.
  void measure(ProbeQuestion question);
  /// Drops all values, and starts the detail again.
  void recompute();
  /// Returns the results of those sources() that are known, for figures.
  std::vector<FigureSource> figureSources(ProbeQuestion question) const;
  /// Returns the probes of a capture; of results an empty answer.
  const Answer<Results>& answer(const ProbeSource& source, ProbeQuestion question) const;
  bool isMeasuring(ProbeQuestion question) const;

  /// Starts the probe at `place`; drops others.
  void showDetail(const std::optional<Place>& place);
  /// Starts the detail again where it failed: what was missing may be open now.
  void retryDetail();
  const std::optional<Place>& place() const { return place_; }
  const Answer<Detail>& detail() const;

 Q_SIGNALS:
  void changed();
  void detailChanged();

 private:
  struct Key {
    int document = 0;
    ProbeQuestion question = ProbeQuestion::kSeparability;
    bool operator==(const Key&) const = default;
  };
  void startDetail();
  void onDocumentRemoved(int document);

  Workspace& workspace_;
  const Preferences& preferences_;
  JobCache<Key, Results> measured_;  ///< of captures
  std::optional<Place> place_;
  JobCache<Place, Detail> details_;
};

}  // namespace lime::explorer
