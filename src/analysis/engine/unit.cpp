// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/unit.h"

#include "store/results/columns.h"

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

std::vector<Unit> layer_units(std::span<const ChosenCapture> captures,
                              const std::function<void(Unit&, const LayerPlace&)>& complete) {
  std::vector<Unit> units;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    for (const auto& [site, layers] : captures[i].parts) {
      for (const int layer : layers) {
        complete(units.emplace_back(layer_unit(captures[i], site, layer)), {i, site, layer});
      }
    }
  }
  return units;
}

UnitThreads threads_for(std::span<const Unit> units, const RunOptions& run) {
  return std::ssize(units) >= run.num_threads() ? UnitThreads::kAcross : UnitThreads::kInside;
}

}  // namespace lime
