// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/entropy_kind.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "viz/recipes/layer_curves.h"

namespace lime {
namespace {

/// Returns the preset of `row`: its own, or the one in the options of its results.
std::string preset_of(const FigureRow& row, const Json& options) {
  std::string preset = row.text(col::kPreset);
  const auto asked = options.find("preset");
  if (preset.empty() && asked != options.end() && asked->is_string()) {
    preset = asked->get<std::string>();
  }
  const auto normalization = options.find("normalization");
  const bool has_own = normalization != options.end() && normalization->is_string() &&
                       *normalization != "maxEntropy";
  if (has_own) preset += " " + normalization->get<std::string>();
  const auto top_k = options.find("top_k");
  if (top_k != options.end() && top_k->is_number_integer()) {
    preset += fmt::format(" top {}", top_k->get<std::int64_t>());
  }
  return preset;
}

std::string order_of(const FigureRow& row) {
  if (!row.has(col::kAlpha)) return "";
  const double alpha = row.number(col::kAlpha);
  if (std::isinf(alpha)) return "\xCE\xB1 = \xE2\x88\x9E";
  return fmt::format("\xCE\xB1 = {}", alpha);
}

bool all_agree(const std::vector<EntropyKind>& all, std::string EntropyKind::*part) {
  return std::all_of(all.begin(), all.end(),
                     [&](const EntropyKind& kind) { return kind.*part == all.front().*part; });
}

}  // namespace

EntropyKind entropy_kind_of(const FigureRow& row, std::span<const FigureSource> sources) {
  return {preset_of(row, sources[row.source].results.options), row.text(col::kUnit), order_of(row)};
}

std::vector<EntropyKind> entropy_kinds(const std::vector<FigureRow>& rows,
                                       std::span<const FigureSource> sources) {
  std::vector<EntropyKind> kinds;
  for (const FigureRow& row : rows) {
    EntropyKind kind = entropy_kind_of(row, sources);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

std::string distinction_of(const EntropyKind& kind, const std::vector<EntropyKind>& all) {
  // The unit follows from the preset, and is in the axis label.
  return joined_parts({all_agree(all, &EntropyKind::preset) ? "" : kind.preset,
                       all_agree(all, &EntropyKind::order) ? "" : kind.order});
}

std::string common_of(const std::vector<EntropyKind>& all) {
  if (all.empty()) return "";
  const EntropyKind& first = all.front();
  const bool has_preset = !first.preset.empty() && all_agree(all, &EntropyKind::preset);
  return joined_parts({has_preset ? "preset " + first.preset : "",
                       all_agree(all, &EntropyKind::order) ? first.order : ""});
}

}  // namespace lime
