// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>

#include "explorer/interventions/intervention_run.h"

namespace lime::explorer {

/// A run of the Interventions view, for its commands.
struct InterventionCommand {
  InterventionRequest request;  ///< no lines: only the edits are written
  QString text_file;            ///< that contains the text; empty: it was typed
  QString edit_file;            ///< that contains the edits; empty: they were made in the view
  QString site;
  QStringList figure_options;
  bool draws_entropies = true;  ///< else the last command measures them; likewise of a sweep
};

/// Returns the commands that repeat a run without the explorer.
QStringList interventionCommandLines(const InterventionCommand& command);

}  // namespace lime::explorer
