// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/json.h"
#include "explorer/interventions/decoder_edits.h"
#include "explorer/interventions/intervention_edits.h"
#include "explorer/interventions/part_edits.h"

namespace lime::explorer {

/// The edits of a checkpoint, of routes and of parts, as item models. Keeps those of other
/// checkpoints.
struct CheckpointEdits {
  InterventionEdits routes;
  PartEdits parts;

  DecoderEdits now() const { return {routes.edits(), parts.edits()}; }
  void set(DecoderEdits edits);
  bool isEmpty() const { return routes.edits().empty() && parts.edits().empty(); }
  const std::string& checkpoint() const { return routes.checkpoint(); }
  /// Lists the edits of another checkpoint. @param path  empty: of none
  void setCheckpoint(const std::string& path);

  /// Returns the edits of all checkpoints, for sessions.
  Json state() const;
  /// Accepts edits as state() returns them, or a list: the routes of this checkpoint.
  /// @return whether there were edits of routes @throws FormatError
  bool setState(const Json& state);
};

}  // namespace lime::explorer
