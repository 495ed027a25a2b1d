// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <memory>

#include "explorer/models/job_cache.h"
#include "explorer/models/token_rows.h"

namespace lime::explorer {

class Workspace;
struct Document;

/// Makes the TokenRows of open captures in jobs, each when first requested. Lives on the GUI
/// thread.
class CaptureRows : public QObject {
  Q_OBJECT

 public:
  CaptureRows(Workspace& workspace, JobRunner& jobs);

  /// Returns null until ready() is emitted, and for good where the table cannot be read.
  const TokenRows* of(const Document& document);
  /// Returns the rows of tokens in a capture; none until they are known. Remembers the last ones.
  const TokenRows::Found& find(const Document& document, const TokenSelection& tokens);

 Q_SIGNALS:
  void ready();

 private:
  JobCache<std::shared_ptr<const CaptureReader>, std::shared_ptr<const TokenRows>> cache_;
  std::shared_ptr<const TokenRows> last_rows_;
  TokenSelection last_tokens_;
  TokenRows::Found last_found_;
};

}  // namespace lime::explorer
