// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/matrix.h"
#include "explorer/models/capture_rows.h"
#include "explorer/models/document.h"
#include "explorer/models/job_cache.h"
#include "explorer/router/written_figure.h"
#include "explorer/widgets/figure_pane.h"
#include "viz/figure.h"

namespace lime::explorer {

/// Shows how much each part of a decoder reads of earlier outputs, or each layer of the keys and
/// values of earlier layers: the mean over a capture with the weights of each token, or the weights
/// of the selected tokens. Uniform reading is the reference. A plain transformer reads the sum of
/// all outputs: for it, the pane shows how much attention and MLP write to it, and what they cause.
class SourcePane : public FigurePane {
  Q_OBJECT

 public:
  SourcePane(Workspace& workspace, JobRunner& jobs);

  /// Returns true for a plain transformer, or a capture of one.
  static bool isPlain(const Document& document);
  /// Returns true for a capture of token-dependent weights and, if `with_plain`, for a plain
  /// transformer or a capture of one.
  static bool isSource(const Document& document, bool with_plain = true);

  void draw(const Document& document, int layer_base);

 Q_SIGNALS:
  void computed();

 private:
  void drawPlain(const Document& document);
  /// Returns the capture of a plain model: the document, or a shown one of the checkpoint.
  const Document* captureOf(const Document& document) const;
  /// Returns the open sweeps over its layers, attention or MLPs.
  std::vector<FigureSource> sweepsOf(const Document& document) const;
  QString describe(const FigureHit& hit) const;

  using Key = std::pair<std::shared_ptr<const CaptureReader>, std::vector<std::int64_t>>;
  Workspace& workspace_;
  CaptureRows rows_;
  JobCache<Key, MatrixD> cache_;
  JobCache<std::shared_ptr<const CaptureReader>, std::shared_ptr<const WrittenNorms>> norms_;
  MatrixD shares_;
  bool is_depth_ = false;
  int layer_base_ = 0;
};

}  // namespace lime::explorer
