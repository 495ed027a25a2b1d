// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/tsne/nearest_rows.h"
#include "core/json.h"
#include "explorer/embeddings/embedding_set.h"
#include "explorer/models/job_runner.h"
#include "explorer/models/selection.h"

namespace lime::explorer {

class EmbeddingCanvases;
class TokenList;

/// Finds the neighbours of a point, lists them and marks them in the canvas of its model.
class PointNeighbours : public QObject {
 public:
  /// @param canvases, list  must outlive this.
  PointNeighbours(EmbeddingCanvases& canvases, TokenList& list, JobRunner& jobs);

  /// Selects the point whose neighbours show() lists. @param label  of its model
  void select(const QString& label, const TokenSelection& token);
  void clear() { centre_.reset(); }
  bool isEmpty() const { return !centre_; }
  Json state() const;
  void setState(const Json& state);

  /// Lists the neighbours of the selected point in one layer: in the model where the capture is
  /// open, else in the embedding. @return false if `set` lacks the point, or none is selected
  bool show(const EmbeddingSet& set, const std::string& site, int layer);

 private:
  /// The point whose neighbours are listed.
  struct Centre {
    QString label;  ///< of the model
    TokenSelection token;
    bool operator==(const Centre&) const = default;
  };

  void find(const EmbeddingSet& set, std::size_t model, int point, const std::string& site,
            int layer);
  void draw(const EmbeddingSet& set, std::size_t model, int point, const std::vector<NearRow>& near,
            const QString& where);

  EmbeddingCanvases& canvases_;
  TokenList& list_;
  JobRunner& jobs_;
  std::optional<Centre> centre_;
};

}  // namespace lime::explorer
