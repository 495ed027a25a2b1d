// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "explorer/models/job_runner.h"
#include "explorer/models/table_model.h"
#include "store/capture_reader.h"

namespace lime::explorer {

/// A token of the capture near another one, by distance of their rows of length 1.
struct NearToken {
  QString text;  ///< with the token before it, which tells equal tokens apart
  std::int64_t sequence = 0;
  std::int64_t position = 0;
  double distance = 0.0;  ///< in [0, 2]

  bool operator==(const NearToken&) const = default;
};

/// What one layer makes of the pinned token.
struct PinnedLayer {
  int layer = 0;
  int shown_layer = 0;     ///< counted from the first layer of the preferences
  QString lens_word = {};  ///< most probable next token by the logit lens; empty: not captured
  std::vector<NearToken> near = {};  ///< the nearest first; empty while they are not known

  bool operator==(const PinnedLayer&) const = default;
};

/// Lists layer by layer the most probable next token and the nearest tokens.
class PinnedLayersModel : public TableModel<PinnedLayer> {
 public:
  enum Column { kLayer, kLensWord, kNearest, kColumns };

  PinnedLayersModel();
};

/// Names a token whose layers are read.
struct PinnedLayersRequest {
  std::shared_ptr<const CaptureReader> capture;
  std::string site;
  std::int64_t sequence = 0;
  int token = 0;
  std::vector<std::filesystem::path> checkpoints;  ///< open ones
  std::optional<int> first_layer = std::nullopt;   ///< read first; unset: the last one
};

/// Tokens among which the nearest ones are found, from the beginning of the capture.
inline constexpr std::int64_t kNearCandidates = 16384;

/// Reads the layers of a token: the words of the lens at once, the neighbours layer by layer, from
/// `first_layer` to both sides. Runs in a job. @param publish  gets what is known on the way
/// @throws FormatError, IoError, Interrupted
std::vector<PinnedLayer> readPinnedLayers(
    const PinnedLayersRequest& request, const JobContext& context,
    const std::function<void(std::vector<PinnedLayer>)>& publish = {});

}  // namespace lime::explorer
