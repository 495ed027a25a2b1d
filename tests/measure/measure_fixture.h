// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/engine/run_analysis.h"
#include "capture/capture.h"
#include "measure/measure.h"
#include "store/results/row_json.h"
#include "support/refusal.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime::testing {

/// A folder with a tiny checkpoint and a text, which are measured in one step or in two.
class MeasureTest : public ::testing::Test {
 protected:
  MeasureTest() {
    write_tiny_checkpoint(folder_ / "model");
    write_text(folder_ / "text.txt", tiny_text(160));
    options_.checkpoint = folder_ / "model";
    options_.text = {folder_ / "text.txt"};
    options_.seq_len = 20;
    options_.batch_size = 3;
    options_.threads = 1;
    options_.output = folder_ / "results.json";
  }
  ~MeasureTest() override { ::unsetenv("LIME_GPU_STAND_IN"); }

  /// Uses LibTorch's kernels of a GPU, on the CPU.
  static void use_device() { ::setenv("LIME_GPU_STAND_IN", "cpu", 1); }

  /// Makes sequences of different lengths.
  void use_lines() {
    write_text(folder_ / "lines.txt", tiny_text(12) + "\n" + tiny_text(30) + "\n" + tiny_text(7) +
                                          "\n" + tiny_text(30) + "\n" + tiny_text(19) + "\n");
    options_.text.clear();
    options_.seq_len.reset();
    options_.lines = {folder_ / "lines.txt"};
  }

  /// Returns the results of `measure`, one measurement.
  Results measured(const std::string& measure) {
    measure_.measure = {measure};
    return run_measure(options_, measure_).reports.front().results;
  }

  /// Returns the results of a capture of `sites` and the analysis of it.
  template <typename Options>
  Results captured(Analysis (*prepare)(const Options&, const RunOptions&), Options options,
                   const std::vector<std::string>& sites = {}) {
    CaptureOptions capture = options_;
    capture.output = folder_ / "capture.h5";
    if (!sites.empty()) capture.sites = sites;
    std::filesystem::remove(capture.output);
    std::filesystem::remove_all(folder_ / "capture.shards");
    run_capture(capture);
    options.captures.captures = {capture.output};
    options.captures.label = {"model"};
    const RunOptions run{.threads = 1, .seed = options_.seed};
    return run_analysis(prepare(options, run), run).results;
  }

  std::string refusal(const std::string& measure) {
    return refusal_of([&] { measured(measure); });
  }

  TemporaryFolder folder_;
  CaptureOptions options_;
  MeasureOptions measure_;
};

/// Expects equal rows but for numbers that differ by `tolerance` relative to the larger one and 1.
inline void expect_equal_rows(const Results& found, const Results& expected, double tolerance) {
  ASSERT_EQ(found.rows.size(), expected.rows.size());
  for (std::size_t i = 0; i < found.rows.size(); ++i) {
    const Json row = row_to_json(found.rows[i]);
    const Json other = row_to_json(expected.rows[i]);
    ASSERT_EQ(row.size(), other.size()) << row << "\n" << other;
    for (const auto& [name, value] : other.items()) {
      ASSERT_TRUE(row.contains(name)) << name;
      if (value.is_number_float() && row.at(name).is_number()) {
        const double a = row.at(name);
        const double b = value;
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        EXPECT_NEAR(a, b, tolerance * std::max(1.0, std::abs(b))) << name << " of " << other;
      } else {
        EXPECT_EQ(row.at(name), value) << name << " of " << other;
      }
    }
  }
}

}  // namespace lime::testing
