// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/matrix.h"
#include "explorer/models/job_cache.h"
#include "explorer/models/selection.h"
#include "explorer/widgets/figure_pane.h"
#include "viz/figure.h"

namespace lime::explorer {

/// Shows how much each part of a decoder reads of earlier outputs, or each layer of the keys and
/// values of earlier layers: the mean over a capture with the weights of each token, or the weights
/// of the selected tokens. Uniform reading is the reference.
class SourcePane : public FigurePane {
  Q_OBJECT

 public:
  SourcePane(Workspace& workspace, JobRunner& jobs);

  /// Returns true for a capture of token-dependent weights and, if `with_plain`, for a plain
  /// transformer or a capture of one.
  static bool isSource(const Document& document, bool with_plain = true);

  void draw(const Document& document, int layer_base);

 Q_SIGNALS:
  void computed();

 private:
  QString describe(const FigureHit& hit) const;
  /// Returns "attention of layer 2" or, of keys and values, "layer 2".
  QString nameOf(int part, bool is_source) const;

  using Key = std::pair<std::shared_ptr<const CaptureReader>, std::vector<std::int64_t>>;
  Workspace& workspace_;
  CaptureRows rows_;
  JobCache<Key, MatrixD> cache_;
  MatrixD shares_;
  bool is_depth_ = false;
  int layer_base_ = 0;
};

}  // namespace lime::explorer
