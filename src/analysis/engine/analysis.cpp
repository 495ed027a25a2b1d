// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/analysis.h"

#include <fmt/format.h>

#include <string_view>

#include "core/files/sha256.h"

namespace lime {

Unit layer_unit(const ChosenCapture& capture, const std::string& site, int layer) {
  Unit unit;
  unit.key.set(col::kLabel, capture.label);
  unit.key.set(col::kSite, site);
  unit.key.set(col::kLayer, layer);
  unit.where =
      fmt::format("'{}': site '{}', layer {}", capture.reader.path().string(), site, layer);
  return unit;
}

std::string sequences_identity(const CaptureReader& capture, std::int64_t count) {
  const auto bytes = [](const auto& values, std::size_t number) {
    return std::string_view(reinterpret_cast<const char*>(values.data()),
                            number * sizeof(values[0]));
  };
  const std::vector<std::int64_t>& offsets = capture.offsets();
  const auto num_rows = static_cast<std::size_t>(offsets[static_cast<std::size_t>(count)]);
  std::string content(bytes(offsets, static_cast<std::size_t>(count) + 1));
  content += bytes(capture.rows().token, num_rows);
  return sha256_of(content);
}

}  // namespace lime
