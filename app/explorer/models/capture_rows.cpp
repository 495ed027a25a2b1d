// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/capture_rows.h"

#include "explorer/models/workspace.h"
#include "store/capture_reader.h"

namespace lime::explorer {

CaptureRows::CaptureRows(Workspace& workspace, JobRunner& jobs, QObject* parent)
    : QObject(parent), workspace_(workspace), jobs_(jobs) {
  connect(&workspace_, &Workspace::documentRemoved, this, [this](int id) { entries_.erase(id); });
}

const TokenRows* CaptureRows::of(const Document& document) {
  if (!document.capture) return nullptr;
  Entry& entry = entries_[document.id];
  if (entry.capture == document.capture) return entry.rows.get();
  entry = {document.capture, nullptr};
  using Rows = std::shared_ptr<const TokenRows>;
  jobs_.start<Rows>(
      this, {.title = QStringLiteral("Rows of %1").arg(document.label), .is_shown = false},
      [capture = document.capture](const JobContext&) {
        return std::make_shared<const TokenRows>(capture);
      },
      [this, id = document.id, capture = document.capture](const Rows& rows) {
        const auto found = entries_.find(id);
        if (found == entries_.end() || found->second.capture != capture) return;
        found->second.rows = rows;
        Q_EMIT ready(id);
      },
      // Whoever measures the capture says what is wrong with it.
      [](const QString&) {});
  return nullptr;
}

}  // namespace lime::explorer
