// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/router_library.h"

#include <algorithm>

#include "checkpoint/checkpoint.h"
#include "explorer/models/job_runner.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"

namespace lime::explorer {

RouterLibrary::RouterLibrary(Workspace& workspace, JobRunner& jobs, QObject* parent)
    : QObject(parent), workspace_(workspace), jobs_(jobs) {
  connect(&workspace_, &Workspace::documentAdded, this, &RouterLibrary::read);
  connect(&workspace_, &Workspace::documentRemoved, this, &RouterLibrary::remove);
  connect(&workspace_, &Workspace::documentChanged, this, [this](int id) {
    const Document* const document = workspace_.find(id);
    if (document != nullptr && document->state == DocumentState::kPresent) read(id);
  });
  for (const Document& document : workspace_.documents()) read(document.id);
}

void RouterLibrary::read(int id) {
  const Document* const document = workspace_.find(id);
  if (document == nullptr || document->kind != DocumentKind::kCheckpoint) return;
  using Routers = std::shared_ptr<const RouterExploration>;
  if (!entries_.contains(id)) entries_.insert(id, {});
  jobs_.start<Routers>(
      this,
      {.title = QStringLiteral("Reading the router of %1").arg(document->label),
       .key = QStringLiteral("router/%1").arg(id),
       .is_shown = false},
      [checkpoint = document->checkpoint](const JobContext&) -> Routers {
        return std::make_shared<const RouterExploration>(*checkpoint);
      },
      [this, id](Routers routers) {
        if (!entries_.contains(id)) return;
        entries_[id] = {std::move(routers), {}};
        Q_EMIT changed(id);
      },
      [this, id](const QString& problem) {
        if (!entries_.contains(id)) return;
        entries_[id] = {nullptr, problem};
        Q_EMIT changed(id);
      });
}

void RouterLibrary::remove(int id) {
  if (entries_.remove(id) > 0) Q_EMIT changed(id);
}

const RouterLibrary::Entry* RouterLibrary::find(int id) const {
  const auto found = entries_.constFind(id);
  return found == entries_.constEnd() ? nullptr : &*found;
}

std::vector<int> RouterLibrary::seriesOf(int id) const {
  const Entry* const entry = find(id);
  if (entry == nullptr || !entry->routers) return {};
  std::vector<const Document*> documents = workspace_.documentsOf(DocumentKind::kCheckpoint);
  std::erase_if(documents, [&](const Document* document) {
    const Entry* const other = find(document->id);
    return other == nullptr || !other->routers || !other->routers->has_shape_of(*entry->routers) ||
           other->routers->is_routed() != entry->routers->is_routed();
  });
  std::stable_sort(documents.begin(), documents.end(), [&](const Document* a, const Document* b) {
    return naturallyLess(a->label, b->label);
  });
  std::vector<int> ids;
  for (const Document* const document : documents) ids.push_back(document->id);
  return ids;
}

}  // namespace lime::explorer
