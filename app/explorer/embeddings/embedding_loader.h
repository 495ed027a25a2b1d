// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer/embeddings/embedding_set.h"
#include "explorer/models/job_runner.h"

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
  bool isBusy() const { return job_ != 0; }
  /// Returns whether set() is a first part of what is being computed.
  bool isPartial() const { return is_partial_; }
  /// Returns the progress, or why there is no set; empty otherwise.
  const QString& message() const { return message_; }
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
  using Publish = std::function<void(EmbeddingSet)>;
  using Work = std::function<EmbeddingSet(const OpenInputs&, const JobContext&, const Publish&)>;
  void start(int source, const QString& message, JobSpec spec, const Work& work);
  void finish(EmbeddingSet set, const QString& message);

  Workspace& workspace_;
  JobRunner& jobs_;
  EmbeddingSet set_;
  int source_ = 0;
  std::shared_ptr<const FigureSource> results_;  ///< of the source
  OpenInputs inputs_;                            ///< when it was loaded
  JobId job_ = 0;
  bool is_partial_ = false;
  QString message_;
};

}  // namespace lime::explorer
