// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QHash>
#include <QObject>
#include <QString>
#include <memory>
#include <vector>

#include "analysis/router_exploration.h"
#include "explorer/models/document.h"

namespace lime::explorer {

class JobRunner;
class Workspace;

/// The routers of all open checkpoints, read in worker threads as they are opened.
class RouterLibrary : public QObject {
  Q_OBJECT

 public:
  struct Entry {
    std::shared_ptr<const RouterExploration>
        routers;      ///< null while they are read, and after a failure
    QString problem;  ///< the library's line after a failure
  };

  RouterLibrary(Workspace& workspace, JobRunner& jobs, QObject* parent = nullptr);

  /// Nothing is known of documents that are no checkpoints.
  const Entry* find(int id) const;
  /// Open checkpoints whose routers have the shape of those of `id`, itself included, and which are
  /// plain transformers only if it is one, in the order
  /// of a training: by the numbers in their labels.
  std::vector<int> seriesOf(int id) const;

 Q_SIGNALS:
  /// The routers of this checkpoint are there, failed, or are gone.
  void changed(int id);

 private:
  void read(int id);
  void remove(int id);

  Workspace& workspace_;
  JobRunner& jobs_;
  QHash<int, Entry> entries_;
};

}  // namespace lime::explorer
