// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/all_views.h"

#include "explorer/collapse/collapse_view.h"
#include "explorer/embeddings/embeddings_view.h"
#include "explorer/interventions/interventions_view.h"
#include "explorer/probes/probes_view.h"
#include "explorer/results/results_view.h"
#include "explorer/router/router_view.h"
#include "explorer/text/text_view.h"

namespace lime::explorer {

const std::vector<ViewKind>& allViews() {
  static const std::vector<ViewKind> views = {
      routerViewKind(), collapseViewKind(),      embeddingsViewKind(), probesViewKind(),
      textViewKind(),   interventionsViewKind(), resultsViewKind(),
  };
  return views;
}

QString currentViewId(const QString& id) {
  if (id == QLatin1String("clouds")) return QStringLiteral("embeddings");
  if (id == QLatin1String("surgery")) return QStringLiteral("interventions");
  return id;
}

}  // namespace lime::explorer
