// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "explorer/models/surgery_edits.h"
#include "explorer/models/surgery_figures.h"
#include "explorer/models/surgery_run.h"
#include "explorer/views/view.h"

class QComboBox;
class QTimer;

namespace lime::explorer {

class FigurePane;
class SurgeryEffect;
class SurgeryRoutes;

/// Switches routes of a LIMe off or scales them, and shows what the model makes of a text before
/// and after: loss, expected tokens, entropies. At the left the routers and the edits, at the right
/// the text and the answers.
class SurgeryView : public View {
  Q_OBJECT

 public:
  SurgeryView(const ViewContext& context, QWidget* parent);
  ~SurgeryView() override;

  /// The figure of the pane that was used last.
  std::optional<Figure> figure() const override;
  QStringList commandLines() const override;
  std::vector<Habit> habits() const override;
  Json state() const override;
  void setState(const Json& state) override;
  std::vector<std::string> furtherNames() const override { return {"run"}; }
  void zoom(double factor) override;
  void showAll() override;

  SurgeryRun& surgery() { return run_; }
  const SurgeryEdits& edits() const { return edits_; }
  /// Reads a file of edits, or says in the note why not.
  void loadEdits(const QString& path);
  void saveEdits(const QString& path);
  /// Takes the text from a file.
  void loadText(const QString& path);

 protected:
  void changeEvent(QEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  void layOut();
  void addActions();
  void connectAll();
  void connectWorkspace();
  void listCheckpoints();
  void chooseCheckpoint();
  void forgetRouters();
  void readRouters();
  void setEdits(const QString& text, std::vector<RouterEdit> edits);
  void applyEdits();
  void scale(const RouterEdit& edit);
  void draw();
  void showAnswers();
  void run();
  void lookAt(int line);
  void activate(FigurePane* pane);
  QString note() const;
  QString emptyMessage() const;
  bool isOutdated() const;
  const Document* document() const;
  Selection chosen() const;
  std::optional<SurgeryQuestion> question() const;
  QStringList textLines(QStringList* before) const;
  const Json& editsJson() const;

  SurgeryEdits edits_;
  // The edits as the state has them, which is asked for several times at every edit.
  mutable std::vector<RouterEdit> json_of_;
  mutable Json json_;
  SurgeryRun run_;
  std::unique_ptr<EditedRouters> routers_;
  int shown_ = 0;      ///< the checkpoint whose routers they are, or are being read
  QString problem_;    ///< why there are no routers, or why something wanted is not done
  QString file_;       ///< of the text, where it is as it was read
  QString edit_file_;  ///< of the edits, likewise
  QComboBox* checkpoint_;
  SurgeryRoutes* routes_;
  SurgeryEffect* effect_;
  FigurePane* active_;
  QTimer* live_;
  bool runs_when_read_ = false;  ///< "run" of setState(): as soon as there are routers
};

ViewKind surgeryViewKind();

}  // namespace lime::explorer
