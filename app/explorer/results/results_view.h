// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSet>
#include <QString>
#include <QStringList>
#include <QToolButton>
#include <map>
#include <string>
#include <vector>

#include "explorer/models/document.h"
#include "explorer/models/figures.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/view.h"

class QComboBox;

namespace lime::explorer {

/// A button with a menu of names, all checked until the user unchecks some.
class CheckMenu : public QToolButton {
  Q_OBJECT

 public:
  CheckMenu(const QString& title, const QString& toolTip);

  /// Lists `names`, each once. Unchecked ones stay unchecked.
  void setNames(const QStringList& names);
  bool isChecked(const QString& name) const { return !unchecked_.contains(name); }
  /// Returns the checked names; nothing where all are.
  std::vector<std::string> selection() const;
  /// Returns and sets the listed names that are not checked.
  Json unchecked() const;
  void setUnchecked(const Json& names);

 Q_SIGNALS:
  void changed();

 private:
  QStringList names_;
  QSet<QString> unchecked_;
};

/// Shows every figure that lime-figure draws from the open results. Results of one metric share a
/// figure as far as they fit together.
class ResultsView : public View {
  Q_OBJECT

 public:
  explicit ResultsView(const ViewContext& context);

  QStringList commandLines() const override;
  QString obstacle(const Document& document) const override;

 protected:
  void restored() override { draw(); }
  void paletteChanged() override { draw(); }

 private:
  void listMetrics();
  void listFigures();
  void listFilters();
  void draw();
  /// Returns the results of the metric, or those of them that are checked.
  std::vector<const Document*> ofMetric() const;
  std::vector<const Document*> selected() const;
  FigureOptions options() const;
  /// Draws as many of the documents as fit into one figure.
  void drawJointly(const std::vector<const Document*>& documents,
                   FigureOrMessage& figure_or_message);
  QString describe(const FigureHit& hit) const;

  QComboBox* metric_;
  QComboBox* kind_;
  CheckMenu* documents_;
  CheckMenu* labels_;
  CheckMenu* sites_;
  FigurePane* pane_;
  int current_ = 0;                  ///< document that was current when metrics were listed
  std::vector<int> drawn_;           ///< documents of the figure
  std::map<int, QString> left_out_;  ///< documents that do not fit into it, and why
  QStringList colours_;              ///< options of lime-figure
};

}  // namespace lime::explorer
