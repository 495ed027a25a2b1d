// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <vector>

#include "explorer/widgets/view.h"

namespace lime::explorer {

/// Lists all views in the order of the side bar. A new view is one pair of files and its line here.
const std::vector<ViewKind>& allViews();

/// Returns the id of the view that is stored as `id` in a session or given on a command line.
/// Earlier versions called the Embeddings view "clouds" and the Interventions view "surgery".
QString currentViewId(const QString& id);

}  // namespace lime::explorer
