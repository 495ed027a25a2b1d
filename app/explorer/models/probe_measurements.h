// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "explorer/models/collapse_measurements.h"
#include "explorer/models/job_runner.h"
#include "explorer/models/probe_detail.h"
#include "explorer/models/probe_sources.h"

namespace lime::explorer {

class Workspace;

/// The probes of all open captures and results, layer by layer, and one of them in detail; computed
/// by jobs where no open results have them. Lives on the GUI thread.
class ProbeMeasurements : public QObject {
  Q_OBJECT

 public:
  /// Which probe is looked at closely.
  struct Place {
    ProbeQuestion question = ProbeQuestion::kSeparability;
    QString label;  ///< of the source
    std::string site;
    int layer = 0;
    std::string task;  ///< empty: all
    bool operator==(const Place&) const = default;
  };

  ProbeMeasurements(Workspace& workspace, JobRunner& jobs, QObject* parent = nullptr);

  std::vector<ProbeSource> sources(ProbeQuestion question) const;
  /// Of analyses to come; 0: all processors.
  void setThreads(int threads) { threads_ = threads; }

  /// Starts what is not known yet.
  void measure(ProbeQuestion question);
  void forget();
  /// What figures are made of, in the order of sources(); of those alone that are known.
  std::vector<FigureSource> figureSources(ProbeQuestion question) const;
  /// What became of the probes of `source`; results have an answer with neither job nor problem.
  const Answer<Results>& answer(const ProbeSource& source, ProbeQuestion question) const;
  bool isMeasuring(ProbeQuestion question) const;

  /// Looks at `place`, unless that is what is looked at already.
  void look(const std::optional<Place>& place);
  /// Where that failed: what it lacked may be there now.
  void lookAgain();
  const std::optional<Place>& place() const { return place_; }
  const Answer<ProbeDetail>& detail() const { return detail_; }

 Q_SIGNALS:
  void changed();
  void detailChanged();

 private:
  using Key = std::pair<int, ProbeQuestion>;
  void start(const ProbeSource& source, ProbeQuestion question);
  void startDetail();
  void drop(int document);
  void jobRemoved(JobId id);

  Workspace& workspace_;
  JobRunner& jobs_;
  int threads_ = 0;
  std::map<Key, Answer<Results>> measured_;  ///< of captures
  std::optional<Place> place_;
  Answer<ProbeDetail> detail_;
};

}  // namespace lime::explorer
