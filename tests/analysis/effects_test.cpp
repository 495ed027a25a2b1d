// SPDX-License-Identifier: Apache-2.0
#include "analysis/effects/effects.h"

#include <gtest/gtest.h>

#include <cmath>

#include "store/results/columns.h"
#include "support/test_data.h"

namespace lime {
namespace {

/// Writes a sweep of `num_layers` layers with `num_sources` sources, whose effect grows by source.
std::filesystem::path write_sweep(const TemporaryFolder& folder, std::int64_t num_layers,
                                  std::int64_t num_sources) {
  Results results;
  results.metric = "sweep";
  results.inputs.emplace_back().label = "model";
  for (std::int64_t layer = 0; layer < num_layers; ++layer) {
    for (std::int64_t source = 0; source < num_sources; ++source) {
      const double effect =
          0.01 * static_cast<double>(source + 1) + 0.001 * static_cast<double>(layer);
      results.rows.push_back({{col::kPart, "source"},
                              {col::kLayer, layer},
                              {col::kSource, source},
                              {col::kEffect, effect},
                              {col::kEffect.low, effect - 0.001},
                              {col::kEffect.high, effect + 0.001}});
    }
  }
  const std::filesystem::path path = folder / "sweep.json";
  write_results(path, results);
  return path;
}

/// Returns the rows of kind `agreement` for masses that are `slope` * source + a constant per
/// layer.
std::vector<ResultRow> agreements_of(std::int64_t num_layers, double slope) {
  const TemporaryFolder folder;
  constexpr std::int64_t kSources = 4;
  const SweepEffects effects(write_sweep(folder, num_layers, kSources), "depth-weights",
                             {"source"});
  std::vector<ComponentMass> components;
  for (std::int64_t layer = 0; layer < num_layers; ++layer) {
    for (std::int64_t source = 0; source < kSources; ++source) {
      components.push_back(
          {{{col::kLayer, layer}, {col::kSource, source}},
           1.0 / static_cast<double>(layer + 1) + slope * static_cast<double>(source)});
    }
  }
  std::vector<ResultRow> rows = effect_rows(effects, "source", {}, components, {});
  std::erase_if(rows, [](const ResultRow& row) { return row.text(col::kKind) != "agreement"; });
  return rows;
}

TEST(EffectsTest, EqualMassesOfEachLayerHaveNoOrder) {
  // Mass falls with the layer and the effect grows: without the rule the correlation is not 0.
  const std::vector<ResultRow> rows = agreements_of(6, 0.0);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_TRUE(std::isnan(rows[0].number(col::kAgreement)));
  EXPECT_EQ(rows[0].integer(col::kN), 24);
}

TEST(EffectsTest, FewLayersHaveNoInterval) {
  const std::vector<ResultRow> few = agreements_of(4, 0.01);
  ASSERT_EQ(few.size(), 2U);
  EXPECT_NEAR(few[1].number(col::kAgreement), 1.0, 1e-12);
  EXPECT_TRUE(std::isnan(few[1].number(col::kAgreement.low)));
  const std::vector<ResultRow> more = agreements_of(5, 0.01);
  EXPECT_NEAR(more[1].number(col::kAgreement.low), 1.0, 1e-12);
}

}  // namespace
}  // namespace lime
