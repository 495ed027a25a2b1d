// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/capture_rows.h"

#include "explorer/models/document.h"
#include "explorer/models/workspace.h"
#include "store/capture_reader.h"

namespace lime::explorer {

CaptureRows::CaptureRows(Workspace& workspace, JobRunner& jobs) : cache_(jobs) {
  connect(&cache_, &JobCacheSignals::changed, this, &CaptureRows::ready);
  const auto drop_closed = [this, &workspace] {
    cache_.dropIf([&](const std::shared_ptr<const CaptureReader>& capture) {
      return !workspace.isOpen(capture);
    });
  };
  connect(&workspace, &Workspace::documentRemoved, this, drop_closed);
  connect(&workspace, &Workspace::documentChanged, this, drop_closed);
}

const TokenRows* CaptureRows::of(const Document& document) {
  if (!document.capture) return nullptr;
  cache_.request(document.capture,
                 {.title = u"Rows of %1"_s.arg(document.label), .is_shown = false},
                 [capture = document.capture](const JobContext&) {
                   return std::make_shared<const TokenRows>(capture);
                 });
  return cache_.at(document.capture).result.value_or(nullptr).get();
}

const TokenRows::Found& CaptureRows::find(const Document& document, const TokenSelection& tokens) {
  static const TokenRows::Found nothing;
  if (of(document) == nullptr) return nothing;
  const std::shared_ptr<const TokenRows> rows = *cache_.at(document.capture).result;
  if (last_rows_ != rows || last_tokens_ != tokens) {
    last_found_ = rows->find(tokens);
    last_rows_ = rows;
    last_tokens_ = tokens;
  }
  return last_found_;
}

}  // namespace lime::explorer
