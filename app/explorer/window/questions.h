// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "core/json.h"
#include "explorer/models/text.h"
#include "viz/figure.h"

namespace lime::explorer {

/// What the files of the demo say about a question.
struct Finding {
  QString sentence;
  Figure figure;
  Json state = {};  ///< of the view that shows it
};

/// A question of the start page, which files of the demo answer.
struct Question {
  QString title;
  QStringList files;  ///< that are opened; in the folder of the program or one above it
  QString view;       ///< that shows the answer, an id of allViews()
  /// Computes the answer from files. Reads them: not for the GUI thread.
  /// @throws IoError, FormatError, InvalidArgument
  Finding (*find)();
};

/// Returns the three questions of the start page.
const std::vector<Question>& allQuestions();

/// Returns the models of the answers, in the order of their colours in all of them.
const QStringList& answeringModels();

/// Returns the path of a file of the toolkit, searched in the folder of the program, in those above
/// it, and in the current folder; empty if it is in none.
QString findAbove(const QString& relative);

/// Returns the paths of the files of a question; empty if one is missing.
QStringList pathsOf(const Question& question);

}  // namespace lime::explorer
