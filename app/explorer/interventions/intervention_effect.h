// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QString>
#include <QStringList>
#include <QWidget>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/json.h"
#include "explorer/interventions/line_tokens.h"
#include "explorer/interventions/parts_figure.h"
#include "explorer/interventions/run_bar.h"
#include "explorer/interventions/text_editor.h"
#include "explorer/models/preferences.h"
#include "explorer/widgets/figure_pane.h"
#include "store/results_file.h"
#include "viz/figure.h"

class QComboBox;
class QLabel;
class QLayout;

namespace lime::explorer {

class FigurePane;
class InterventionRun;
class LineTokens;
class RunBar;
class TextEditor;

/// The right side of the Interventions view: the text, and the output of the original and the
/// edited model for it. Emits what the user requests, and changes nothing itself.
class InterventionEffect : public QWidget {
  Q_OBJECT

 public:
  InterventionEffect();

  TextEditor& editor() { return *editor_; }
  RunBar& runBar() { return *run_bar_; }
  /// Returns the lines of the text that are run.
  QStringList lines() const;
  /// Returns those of the second text that belong to them.
  QStringList secondLines() const;
  QString site() const;
  /// Offers the sweep over routes and the entropies of values, or only what every decoder has.
  void setHasRoutes(bool has_routes);
  /// Returns what the user entered and selected here.
  Json state() const;
  /// Restores what `state` has of it.
  void setState(const Json& state);

  /// Draws the results of a run so far. @param note  shown first; may be empty
  /// @param colour  of the model
  void showRun(const InterventionRun& run, const QString& note, const Preferences& preferences,
               std::size_t colour);
  void showNote(const QString& note);

  FigurePane& next() { return *next_; }
  FigurePane& entropies() { return *entropies_; }

 Q_SIGNALS:
  void lineRequested(int line);
  void siteChanged();
  void routeSelected(int layer, int source_layer);
  void partSelected(const lime::explorer::PartEdit& part);
  void status(const QString& text);

 private:
  QLayout* makeScores();
  QColor changeColour(const std::optional<TextScore>& score) const;
  QWidget* makeFigures();
  void drawEntropies(const InterventionRun& run);
  /// Returns the route of a cell of the sweep; null elsewhere.
  const ResultRow* routeAt(const FigureHit& hit) const;
  /// Returns the row of a part or head of the sweep; null elsewhere.
  const ResultRow* partAt(const FigureHit& hit) const;

  FigurePane* next_;
  FigurePane* entropies_;
  TextEditor* editor_;
  RunBar* run_bar_;
  QLabel* note_;
  std::vector<QLabel*> scores_;
  LineTokens* tokens_;
  QComboBox* site_;
  std::shared_ptr<const Results> sweep_;
  std::optional<bool> has_routes_;
  int layer_base_ = 0;
  std::size_t colour_ = 0;  ///< of the model
};

}  // namespace lime::explorer
