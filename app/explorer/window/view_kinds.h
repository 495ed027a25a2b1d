// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <functional>
#include <string>
#include <vector>

#include "explorer/models/document.h"
#include "explorer/widgets/view.h"

namespace lime::explorer {

/// The content that a view requires. Without it the view is empty.
enum class Need { kCheckpoint, kCapture, kSequences, kWords, kResults };

/// Returns what a view with this need shows, for a page without it.
QString explanationOf(Need need);
/// Returns true if a capture of a text provides the content, or results measured from it.
bool needsCapture(Need need);

/// Describes a view, for the button "?".
struct Explanation {
  QString text;     ///< two sentences
  QString formula;  ///< with HTML entities and tags
  QString caveat;
  QString page;          ///< of docs/, "router.md"
  QString heading = {};  ///< in that page; empty: its beginning
  /// Rows of docs/invariance.md that are quoted, see InvarianceNote::measurement.
  std::vector<std::string> measurements = {};
};

/// Describes a view that is not made yet.
struct ViewKind {
  QString id;        ///< in sessions and screenshots: "router"
  QString title;     ///< "Router"
  QString question;  ///< that the view answers, one sentence
  Need need;
  /// Returns true if the view shows such a document. Without one, OfferPage is shown instead.
  std::function<bool(const Document&)> shows;
  /// Returns true if such a document answers the question. A plain transformer has no router, and
  /// an edit answers nothing before it is run.
  std::function<bool(const Document&)> answers;
  std::function<View*(const ViewContext&)> make;
  Explanation explanation;
};

/// Lists all views in the order of the side bar. A new view is a pair of files and its entry here.
const std::vector<ViewKind>& allViews();

/// Returns the place in allViews() of the view called `id` in a session or on a command line; -1
/// if there is none.
int indexOfView(const QString& id);

}  // namespace lime::explorer
