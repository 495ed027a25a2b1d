// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <functional>
#include <memory>

#include "analysis/tsne/tsne_analysis.h"
#include "explorer/embeddings/embedding_set.h"
#include "explorer/models/job_cache.h"
#include "explorer/models/open_inputs.h"

namespace lime::explorer {

class Workspace;

/// Loads the embeddings of t-SNE results, or computes those of the open captures, in jobs.
class EmbeddingLoader : public QObject {
  Q_OBJECT

 public:
  static constexpr int kComputed = -1;

  EmbeddingLoader(Workspace& workspace, JobRunner& jobs);

  const EmbeddingSet& set() const { return set_; }
  /// Returns the document that the set is from, kComputed, or 0: none.
  int source() const { return source_; }
  bool isBusy() const { return answer().job != 0; }
  /// Returns whether set() is a first part of what is being computed.
  bool isPartial() const { return isBusy() && answer().result.has_value(); }
  /// Returns the progress, or why there is no set; empty otherwise.
  QString message() const {
    if (isBusy()) return progress_;
    return answer().is_cancelled ? QString() : answer().problem;
  }
  /// Returns whether the results or their captures changed since, or a missing capture may be open.
  bool isOutdated() const;

  /// @param document  results of lime-metrics tsne, or 0: drops the set
  void load(int document);
  /// Computes t-SNE of all shown captures, or without iterations the first two principal
  /// components. Reads what is stored beside the first capture, if it is the same.
  /// @param threads  0: all CPUs
  void compute(int threads, const TsneOptions& tsne);
  /// Returns whether compute() would find stored embeddings of the shown captures.
  bool hasCache(const TsneOptions& tsne) const;

 Q_SIGNALS:
  void changed();

 private:
  using Sets = JobCache<int, std::shared_ptr<const EmbeddingSet>>;
  using Work = std::function<EmbeddingSet(const OpenInputs&, const JobContext&,
                                          const std::function<void(EmbeddingSet)>& publish)>;
  const Answer<std::shared_ptr<const EmbeddingSet>>& answer() const { return sets_.at(requested_); }
  void start(int source, const QString& progress, JobSpec spec, const Work& work);
  void showAnswer();

  Workspace& workspace_;
  Sets sets_;                                    ///< by source; only the requested one
  EmbeddingSet set_;                             ///< at one address: views refer to it
  int source_ = 0;                               ///< of the set
  int requested_ = 0;                            ///< source of the answer that is shown or awaited
  std::shared_ptr<const FigureSource> results_;  ///< of the requested source
  OpenInputs inputs_;                            ///< when it was requested
  QString progress_;
};

}  // namespace lime::explorer
