// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/all_views.h"

#include "explorer/views/clouds_view.h"
#include "explorer/views/collapse_view.h"
#include "explorer/views/probes_view.h"
#include "explorer/views/results_view.h"
#include "explorer/views/router_view.h"
#include "explorer/views/surgery_view.h"
#include "explorer/views/text_view.h"

namespace lime::explorer {

const std::vector<ViewKind>& allViews() {
  static const std::vector<ViewKind> views = {
      routerViewKind(), collapseViewKind(), cloudsViewKind(),  probesViewKind(),
      textViewKind(),   surgeryViewKind(),  resultsViewKind(),
  };
  return views;
}

}  // namespace lime::explorer
