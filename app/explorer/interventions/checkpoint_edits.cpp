// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/checkpoint_edits.h"

namespace lime::explorer {

void CheckpointEdits::set(DecoderEdits edits) {
  routes.setEdits(std::move(edits.routes));
  parts.setEdits(std::move(edits.parts));
}

void CheckpointEdits::setCheckpoint(const std::string& path) {
  routes.setCheckpoint(path);
  parts.setCheckpoint(path);
}

Json CheckpointEdits::state() const {
  return {{"edits", editsToJson(routes.all())}, {"parts", partsToJson(parts.all())}};
}

bool CheckpointEdits::setState(const Json& state) {
  if (state.contains("parts")) parts.setAll(partsFromJson(state.at("parts")));
  if (!state.contains("edits")) return false;
  const Json& edits = state.at("edits");
  routes.setAll(editsFromJson(edits.is_array() ? Json::object({{checkpoint(), edits}}) : edits));
  return true;
}

}  // namespace lime::explorer
