// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>

#include "viz/recipes/layer_curves.h"

namespace lime {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 28> kNames = {{
    {"entropy", "entropy (nats)"},
    {"rankme", "RankMe"},
    {"anisotropy", "anisotropy (mean cosine)"},
    {"anisotropy_centred", "anisotropy, centred"},
    {"sequence_cosine", "mean cosine of tokens"},
    {"mean_token_similarity", "similarity to mean token"},
    {"rank_one_residual", "rank-one residual"},
    {"rank_one_residual_1inf", "rank-one residual (1,\xE2\x88\x9E)"},
    {"curvature", "curvature (degrees)"},
    {"largest_to_median", "largest / median magnitude"},
    {"two_nn", "dimension (TwoNN)"},
    {"mle", "dimension (MLE)"},
    {"lidar_token", "token LiDAR"},
    {"cka", "CKA"},
    {"cka_debiased", "CKA, debiased"},
    {"procrustes", "Procrustes distance"},
    {"kl_to_final", "KL to the final layer (nats)"},
    {"agreement", "same top token as the final layer"},
    {"loss", "loss (nats)"},
    {"gride", "dimension (GRIDE)"},
    {"mutual_knn", "mutual nearest neighbours"},
    {"imbalance", "information imbalance"},
    {"influence", "block influence"},
    {"angle", "angle / 180\xC2\xB0"},
    {"alpha_req", "\xCE\xB1 of the power law"},
    {"first_norm_ratio", "norm of token 0 / median"},
    {"top_share", "\xCF\x83\xE2\x82\x81\xC2\xB2 / \xCE\xA3\xCF\x83\xC2\xB2"},
    {"top_share_rest", "the same without token 0"},
}};

/// One of each group of related geometry measures.
constexpr std::array kUsual = {"effective_rank",    "participation_ratio", "anisotropy",
                               "rank_one_residual", "curvature",           "two_nn",
                               "sequence_cosine"};
constexpr std::size_t kMany = 4;

/// Returns the preset of `row`: its own, or the one in the options of its results.
std::string preset_of(const FigureRow& row, const Json& options) {
  const auto option = [&](const char* name) {
    const auto found = options.find(name);
    return found == options.end() ? Json() : *found;
  };
  std::string preset = row.text(col::kPreset);
  const Json stored = option("preset");
  if (preset.empty() && stored.is_string()) preset = stored.get<std::string>();
  const Json normalization = option("normalization");
  if (normalization.is_string() && normalization != "maxEntropy") {
    preset += " " + normalization.get<std::string>();
  }
  const Json top_k = option("top_k");
  if (top_k.is_number_integer()) preset += fmt::format(" top {}", top_k.get<std::int64_t>());
  const Json skipped = option("skip_tokens");
  if (skipped.is_number_integer() && skipped > 0) {
    preset += fmt::format(" without the first {}", skipped.get<std::int64_t>());
  }
  const std::string over = row.text(col::kOver);
  return over.empty() || over == "sequences" ? preset : preset + " of " + over;
}

std::string order_of(const FigureRow& row) {
  if (!row.has(col::kAlpha)) return "";
  const double alpha = row.number(col::kAlpha);
  if (std::isinf(alpha)) return "\xCE\xB1 = \xE2\x88\x9E";
  return fmt::format("\xCE\xB1 = {}", alpha);
}

bool all_agree(const std::vector<EntropyKind>& all, std::string EntropyKind::*part) {
  return std::ranges::all_of(
      all, [&](const EntropyKind& kind) { return kind.*part == all.front().*part; });
}

}  // namespace

std::vector<std::string> selected_measures(const std::vector<std::string>& there,
                                           const std::vector<std::string>& wanted) {
  for (const std::string& measure : wanted) {
    if (is_wanted(there, measure)) continue;
    throw InvalidArgument("measure: the results contain no '{}' (their measures: {})", measure,
                          fmt::join(there, ", "));
  }
  if (!wanted.empty()) return wanted;
  if (there.size() < kMany) return there;
  std::vector<std::string> usual;
  for (const char* const measure : kUsual) {
    if (is_wanted(there, measure)) usual.emplace_back(measure);
  }
  // Replaced by the cosine within sequences if there is none over all rows.
  const bool has_all_rows = !usual.empty() && is_wanted(usual, "anisotropy");
  if (has_all_rows) std::erase(usual, "sequence_cosine");
  return usual.empty() ? there : usual;
}

std::string measure_name(const std::string& measure) {
  for (const auto& [key, name] : kNames) {
    if (key == measure) return std::string(name);
  }
  std::string name = measure;
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string stars_of_p(double p) {
  if (!(p < 0.05)) return "";
  if (p >= 0.01) return "*";
  return p >= 0.001 ? "**" : "***";
}

std::string with_commas(double count) {
  std::string digits = fmt::format("{:.0f}", count);
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

EntropyKind entropy_kind_of(const FigureRow& row, FigureSources sources) {
  return {preset_of(row, sources[row.source].results.options), row.text(col::kUnit), order_of(row)};
}

std::vector<EntropyKind> entropy_kinds(const FigureRows& rows, FigureSources sources) {
  return distinct_values(rows, [&](const FigureRow& row) { return entropy_kind_of(row, sources); });
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
