// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <memory>

#include "explorer/embeddings/embedding_set.h"
#include "explorer/models/job_runner.h"

namespace lime::explorer {

class Workspace;

/// Loads the embeddings of t-SNE results, or computes those of the open captures, in jobs. Lives on
/// the GUI thread.
class EmbeddingLoader : public QObject {
  Q_OBJECT

 public:
  static constexpr int kComputed = -1;

  EmbeddingLoader(Workspace& workspace, JobRunner& jobs, QObject* parent = nullptr);

  const EmbeddingSet& set() const { return set_; }
  /// Returns the document that the set is from, kComputed, or 0: none.
  int source() const { return source_; }
  bool isBusy() const { return job_ != 0; }
  /// Returns the progress, or why there is no set; empty otherwise.
  const QString& message() const { return message_; }
  /// Returns whether the results or their captures changed since, or a missing capture may be open.
  bool isOutdated() const;

  /// @param document  results of lime-metrics tsne, or 0: drops the set
  void load(int document);
  /// Computes t-SNE of all open captures. @param threads  0: all CPUs
  void compute(int threads);

 Q_SIGNALS:
  void changed();

 private:
  void start(const QString& message);
  void finish(EmbeddingSet set, const QString& message);

  Workspace& workspace_;
  JobRunner& jobs_;
  EmbeddingSet set_;
  int source_ = 0;
  std::shared_ptr<const FigureSource> results_;  ///< of the source
  OpenInputs inputs_;                            ///< when it was loaded
  JobId job_ = 0;
  QString message_;
};

}  // namespace lime::explorer
