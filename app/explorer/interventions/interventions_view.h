// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/router/edited_routers.h"
#include "explorer/interventions/checkpoint_edits.h"
#include "explorer/interventions/intervention_run.h"
#include "explorer/models/document.h"
#include "explorer/widgets/view.h"

class QComboBox;
class QTimer;

namespace lime::explorer {

class InterventionEffect;
class InterventionSides;

/// Skips, scales or patches layers, attention, MLPs and heads of any decoder, and scales routes of
/// a LIMe, and compares loss, predictions and entropies of the original and the edited model for a
/// text.
class InterventionsView : public View {
  Q_OBJECT

 public:
  explicit InterventionsView(const ViewContext& context);
  ~InterventionsView() override;

  /// Returns whether a document is a decoder.
  static bool shows(const Document& document) { return document.checkpoint != nullptr; }

  QStringList commandLines() const override;
  std::vector<Shortcut> shortcuts() const override;
  Json state() const override;
  /// Accepts edits as state() returns them, or as a list: those of the selected checkpoint.
  void setState(const Json& state) override;
  std::string subjectName() const override { return "checkpoint"; }
  std::vector<std::string> furtherNames() const override { return {"run"}; }
  void showAll() override;
  /// Loads the text, and runs it at every edit.
  void openText(const QString& path) override;

  InterventionRun& interventions() { return run_; }
  const InterventionEdits& edits() const { return edits_.routes; }
  const PartEdits& parts() const { return edits_.parts; }
  /// Reads a file of edits. The note shows an error.
  void loadEdits(const QString& path);
  void saveEdits(const QString& path);
  /// Loads the text from a file, likewise.
  void loadText(const QString& path);

 protected:
  void paletteChanged() override;
  void shown() override;

 private:
  void layOut();
  /// Runs an action of the user; the note shows its error.
  void attempt(const std::function<void()>& action);
  void addActions();
  void connectAll();
  void connectWorkspace();
  void listCheckpoints();
  void selectCheckpoint();
  void restoreEdits(const Json& state);
  void clearRouters();
  void readRouters();
  void setEdits(const QString& text, DecoderEdits edits);
  void applyEdits();
  void scale(const RouterEdit& edit);
  void editPart(const PartEdit& edit);
  void selectPart(const PartEdit& part);
  void showSides();
  void draw();
  void showAnswers();
  void run();
  QString note() const;
  QString emptyMessage() const;
  const Document* document() const;
  std::optional<InterventionRequest> currentRequest() const;

  CheckpointEdits edits_;
  InterventionRun run_;
  std::unique_ptr<EditedRouters> routers_;
  int shown_ = 0;      ///< the checkpoint whose routers they are, or are being read
  QString problem_;    ///< why there are no routers, or why something wanted is not done
  QString edit_file_;  ///< of the edits, where they are as they were read
  QComboBox* checkpoint_;
  InterventionSides* sides_;
  InterventionEffect* effect_;
  QTimer* live_;
  bool runs_when_read_ = false;  ///< "run" of setState(): as soon as there are routers
};

}  // namespace lime::explorer
