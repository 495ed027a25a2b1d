// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/router_layout.h"
#include "core/json.h"
#include "core/options.h"
#include "explorer/models/table_model.h"
#include "store/results_file.h"
#include "viz/figure.h"

namespace lime::explorer {

/// A part of any decoder that an edit skips or scales.
enum class DecoderPart { kAttention, kMlp, kLayer, kHead };
constexpr auto names_of(DecoderPart) {
  return names_in_order<DecoderPart>("attention", "mlp", "layer", "head");
}

/// Scales what a part adds to the residual stream, or the output of a head of attention.
struct PartEdit {
  DecoderPart part = DecoderPart::kAttention;
  int layer = 0;
  int head = 0;        ///< of kHead, else 0
  double scale = 1.0;  ///< 0: skipped

  bool namesSameAs(const PartEdit& other) const {
    return part == other.part && layer == other.layer && head == other.head;
  }
  bool operator==(const PartEdit&) const = default;
};

/// The edits of each checkpoint, by its path.
using PartsByCheckpoint = std::map<std::string, std::vector<PartEdit>>;

/// Returns "attention of layer 3", "head 1 of layer 3".
QString partText(const PartEdit& edit, int layer_base);

/// Returns the values of --edit that make these edits: "skip mlp layers=3".
QStringList editOptions(const std::vector<PartEdit>& edits);
/// Returns the value of --edit that scales these routes.
QString editOption(const RouterEdit& routes);

/// Edits of a file of --edit, by what the explorer can edit.
struct ExplorerEdits {
  std::vector<RouterEdit> routes;
  std::vector<PartEdit> parts;
};
/// Writes edits as a file of --edit: in the format of routers, if there are no others.
std::string editsFile(const ExplorerEdits& edits);
/// Reads such a file. @throws IoError; FormatError  naming an edit of other activations
ExplorerEdits readEditsFile(const std::filesystem::path& path);

/// Checks that the model has the layers and heads. @throws InvalidArgument
void checkParts(const std::vector<PartEdit>& edits, std::int64_t num_layers,
                std::int64_t num_heads);

Json partsToJson(const PartsByCheckpoint& edits);
/// @throws FormatError  if `json` is no object that partsToJson() returns.
PartsByCheckpoint partsFromJson(const Json& json);

/// Lists the edits of a checkpoint, one per part. Keeps those of other checkpoints.
class PartEdits : public TableModel<PartEdit> {
  Q_OBJECT

 public:
  enum Column { kPart, kScale, kColumns };

  PartEdits();

  const std::vector<PartEdit>& edits() const { return rows(); }
  void setEdits(std::vector<PartEdit> edits);
  void setCheckpoint(const std::string& path);
  PartsByCheckpoint all() const;
  void setAll(PartsByCheckpoint all);
  void setLayerBase(int layer_base);

  double scaleOf(const PartEdit& part) const;
  /// Returns `edits` with exactly this part scaled by `edit.scale`; 1 removes its edit.
  static std::vector<PartEdit> with(std::vector<PartEdit> edits, const PartEdit& edit);

  Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 Q_SIGNALS:
  /// The user typed a scale into the table.
  void scaleEntered(const lime::explorer::PartEdit& edit);

 private:
  std::string checkpoint_;
  PartsByCheckpoint others_;
  int layer_base_ = 0;
};

/// Draws the parts of a decoder: a row per layer, columns attention, MLP and each head. Colours are
/// the change in loss without a part, where a sweep measured it; without one, its scale. Skipped
/// parts are crossed out, scaled ones have a mark.
/// @param sublayers, heads  results of lime-capture sweep; may be null
Figure partsFigure(const std::vector<PartEdit>& edits, int num_layers, int num_heads,
                   const Results* sublayers, const Results* heads, int layer_base);

/// Returns the part of a column of partsFigure().
PartEdit partAt(int layer, int column);
/// Returns its column; those of a layer are the first two.
int columnOf(const PartEdit& part);

/// Returns the swept part that the row of a sweep names; nothing for routes and totals.
std::optional<PartEdit> partOf(const ResultRow& row);
/// Returns the row of a sweep about this part; null if it has none.
const ResultRow* sweptPart(const Results& sweep, const PartEdit& part);
/// Describes it: "without the MLP of layer 3: loss +0.1 nats per token [+0.05, +0.15]".
QString describePart(const ResultRow& row, const PartEdit& part, int layer_base);

}  // namespace lime::explorer
