// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "explorer/models/document.h"
#include "explorer/models/job_cache.h"
#include "explorer/router/router_subject.h"
#include "explorer/widgets/view.h"

class QKeyEvent;

namespace lime::explorer {

class RouterControls;
class RouterPanes;
class SourcePane;

/// Reads the routers of all open checkpoints in jobs, as they are opened. Lives on the GUI thread.
class RouterLibrary : public QObject {
  Q_OBJECT

 public:
  using Routers = std::shared_ptr<const CheckpointRouters>;

  RouterLibrary(Workspace& workspace, JobRunner& jobs);

  /// Multiplies the weights by the sizes of "keys" or "values" in an open capture of each
  /// checkpoint; empty: leaves them.
  void setWeighting(const std::string& site);

  /// Returns the routers of an open checkpoint; an empty answer for other documents.
  const Answer<Routers>& find(int id) const;
  /// Returns the routers of an open checkpoint, null where they are not known.
  const CheckpointRouters* routersOf(int id) const;
  /// Returns the open checkpoints whose routers have the shape of those of `id`, itself included,
  /// in the order of a training run: by the numbers in their labels. Plain transformers and routed
  /// models are not mixed.
  std::vector<int> seriesOf(int id) const;

 Q_SIGNALS:
  void changed();

 private:
  using Captures = std::vector<std::shared_ptr<const CaptureReader>>;
  using Key = std::tuple<std::shared_ptr<const Checkpoint>, std::string, Captures>;
  void update();
  Key keyOf(const Document& document) const;

  Workspace& workspace_;
  std::string weighting_;
  JobCache<Key, Routers> cache_;
};

/// Shows which buffered layers and heads the routers of a checkpoint read.
class RouterView : public View {
  Q_OBJECT

 public:
  explicit RouterView(const ViewContext& context);

  /// Returns true for a checkpoint with routers, or a capture of the weights of such ones.
  static bool hasRouters(const Document& document);

  QStringList commandLines() const override;
  std::vector<Shortcut> shortcuts() const override;
  Json state() const override;
  void setState(const Json& state) override;
  std::vector<std::string> selectionNames() const override {
    return {"layer", "head", "source_layer", "source_head"};
  }
  void showAll() override;

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void paletteChanged() override { draw(); }

 private:
  void connectAll();
  void listCheckpoints();
  void draw();
  /// Draws what depends on the selection.
  void followSelection();
  void walk(int layers, int heads, int sources);
  void showCheckpoint(int id);
  void setCheckpoints(const Json& state);
  RouterDisplay display() const;
  /// Returns the selected document if its map is that of SourcePane, else null.
  const Document* source() const;
  /// Returns nothing where the selected checkpoint has no routers to show.
  std::optional<RouterSubject> subject() const;
  /// Returns the selection as far as it fits the routers.
  Selection selected() const;
  QString emptyMessage() const;
  std::optional<double> largestOfSeries() const;

  RouterLibrary library_;
  RouterControls* controls_;
  RouterPanes* maps_;
  SourcePane* sources_;
  bool is_setting_ = false;  ///< state, in which many signals come at once
};

}  // namespace lime::explorer
