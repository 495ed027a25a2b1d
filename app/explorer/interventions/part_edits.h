// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/options.h"
#include "explorer/interventions/scaled_edits.h"

namespace lime::explorer {

/// A part of any decoder that an edit skips, scales or patches.
enum class DecoderPart { kAttention, kMlp, kLayer, kHead };
constexpr auto names_of(DecoderPart) {
  using enum DecoderPart;
  return enum_table<DecoderPart>(
      {{kAttention, "attention"}, {kMlp, "mlp"}, {kLayer, "layer"}, {kHead, "head"}});
}

/// Scales what a part adds to the residual stream, or the output of a head of attention; or takes
/// it from another text.
struct PartEdit {
  DecoderPart part = DecoderPart::kAttention;
  int layer = 0;
  int head = 0;             ///< of kHead, else 0
  double scale = 1.0;       ///< 0: skipped
  bool is_patched = false;  ///< from the second text, at the same positions; then `scale` is 1

  bool names_same_as(const PartEdit& other) const {
    return part == other.part && layer == other.layer && head == other.head;
  }
  bool changes_nothing() const { return scale == 1.0 && !is_patched; }
  bool operator==(const PartEdit&) const = default;
};

/// Returns "attention of layer 3", "head 1 of layer 3".
QString partText(const PartEdit& edit, int layer_base);

/// Returns what making this edit does, for undo: "Skip attention of layer 3".
QString actionText(const PartEdit& edit, int layer_base);

using PartsByCheckpoint = ScaledEdits<PartEdit>::ByCheckpoint;
/// Serialises edits for sessions.
Json partsToJson(const PartsByCheckpoint& edits);
/// @throws FormatError  if `json` is no object that partsToJson() returns.
PartsByCheckpoint partsFromJson(const Json& json);

/// Lists the edits of parts of a checkpoint.
class PartEdits : public ScaledEdits<PartEdit> {
  Q_OBJECT

 public:
  enum Column { kPart, kScale, kColumns };

  PartEdits();

  void setLayerBase(int layer_base);

 Q_SIGNALS:
  /// The user typed a scale into the table.
  void scaleEntered(const lime::explorer::PartEdit& edit);

 protected:
  void enter(const PartEdit& edit) override;

 private:
  int layer_base_ = 0;
};

}  // namespace lime::explorer
