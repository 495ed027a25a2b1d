// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "core/random.h"

namespace lime::testing {

/// A fake analysis of two captures, whose units count how often they are run.
struct CountingAnalysis {
  Analysis analysis;
  std::shared_ptr<std::atomic<int>> runs = std::make_shared<std::atomic<int>>(0);
};

/// Creates layers 0 ... num_layers - 1 of "a" and "b"; rows of numbers that are not exact in
/// decimal and samples of 20 sequences, those of "b" larger by the layer index.
inline CountingAnalysis counting_analysis(
    int num_layers, const std::function<void(const std::string&, int)>& on_unit = {}) {
  CountingAnalysis counting;
  counting.analysis.metric = "counting";
  counting.analysis.options["alpha"] = 0.5;
  for (const std::string label : {"a", "b"}) {
    for (int layer = 0; layer < num_layers; ++layer) {
      Unit unit;
      unit.key = {{col::kLabel, label}, {col::kSite, "values"}, {col::kLayer, layer}};
      unit.where = fmt::format("'{}.h5': site 'values', layer {}", label, layer);
      unit.identity = "the same sequences";
      unit.bytes = 1000;
      unit.measure = [=, runs = counting.runs](const UnitContext&) {
        ++*runs;
        if (on_unit) on_unit(label, layer);
        Random random(static_cast<std::uint64_t>(layer));
        UnitResult result;
        Samples samples{.key = {{col::kAlpha, 0.5}}, .quantity = "entropy", .items = "sequences"};
        for (int i = 0; i < 20; ++i) {
          samples.values.push_back(random.normal() + (label == "b" ? layer : 0) + 0.1 * i / 3.0);
        }
        ResultRow row = {
            {col::kAlpha, 0.5}, {col::kMean, samples.values[0]}, {col::kLower, 1.0 / 3.0}};
        for (const NumberColumn& column : {col::kStd, col::kCiLow, col::kCiHigh, col::kCeiling}) {
          row.set(column, 1.5);
        }
        row.set(col::kUpper, std::nan("")).set(col::kLeftOut, -0.0);
        row.set(col::kC, layer == 0 ? std::numeric_limits<double>::infinity() : 1e300);
        row.set(col::kFoldAccuracies, std::vector<double>{0.1, 1.0 / 3.0, -0.0, 1e-300});
        row.set(col::kConfusion, Eigen::MatrixXi{{3, 1}, {0, layer}});
        result.rows = {row};
        result.samples = {samples};
        result.matrices = {{"points", MatrixD::Constant(2, 3, 0.1 * layer)}};
        return result;
      };
      counting.analysis.units.push_back(std::move(unit));
    }
  }
  return counting;
}

}  // namespace lime::testing
