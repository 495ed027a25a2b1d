// SPDX-License-Identifier: Apache-2.0
// Entropies measured inside the passes equal those of a capture.
#include <gtest/gtest.h>

#include <string>

#include "analysis/entropy/entropy_analysis.h"
#include "measure/measure_fixture.h"

namespace lime {
namespace {

using testing::expect_equal_rows;

/// The device computes the same in another order; 1e-6 is the documented bound.
constexpr double kDeviceTolerance = 1e-6;

class MeasureEntropyTest : public testing::MeasureTest,
                           public ::testing::WithParamInterface<EntropyPreset> {
 protected:
  EntropyAnalysisOptions entropy(std::vector<double> alpha = {}) const {
    EntropyAnalysisOptions options;
    options.entropy.preset = GetParam();
    options.entropy.alpha = std::move(alpha);
    return options;
  }
  std::string request(const std::string& more = "") const {
    return "entropy preset=" + std::string(enum_name(GetParam())) + more;
  }
};

TEST_P(MeasureEntropyTest, EqualsTheCaptureBitByBit) {
  expect_equal_rows(measured(request()), captured(prepare_entropy, entropy()), 0.0);
}

TEST_P(MeasureEntropyTest, EqualsTheCaptureForEveryOrder) {
  expect_equal_rows(measured(request(" alpha=0.5,1,2,3,inf")),
                    captured(prepare_entropy, entropy({0.5, 1, 2, 3, HUGE_VAL})), 0.0);
}

TEST_P(MeasureEntropyTest, EqualsTheCaptureForSequencesOfDifferentLengths) {
  use_lines();
  EntropyAnalysisOptions options = entropy({2});
  options.captures.skip_tokens = 2;
  expect_equal_rows(measured(request(" alpha=2 skip-tokens=2")), captured(prepare_entropy, options),
                    1e-12);
}

TEST_P(MeasureEntropyTest, EqualsTheCaptureOnADevice) {
  const Results expected = captured(prepare_entropy, entropy({0.5, 1, 2, HUGE_VAL}));
  use_device();
  expect_equal_rows(measured(request(" alpha=0.5,1,2,inf")), expected, kDeviceTolerance);
  EXPECT_EQ(measured(request()).provenance.at("device"), "cpu");
}

TEST_P(MeasureEntropyTest, EqualsTheCaptureOnADeviceForSequencesOfDifferentLengths) {
  use_lines();
  EntropyAnalysisOptions options = entropy();
  options.captures.skip_tokens = 1;
  const Results expected = captured(prepare_entropy, options);
  use_device();
  expect_equal_rows(measured(request(" skip-tokens=1")), expected, kDeviceTolerance);
}

TEST_P(MeasureEntropyTest, EqualsTheCaptureForDataSets) {
  EntropyAnalysisOptions options = entropy();
  options.dataset = {RowKind::kMean, RowKind::kLast};
  const Results expected = captured(prepare_entropy, options);
  expect_equal_rows(measured(request(" dataset=mean,last")), expected, 0.0);
  use_device();
  expect_equal_rows(measured(request(" dataset=mean,last")), expected, kDeviceTolerance);
}

INSTANTIATE_TEST_SUITE_P(Presets, MeasureEntropyTest,
                         ::testing::Values(EntropyPreset::kLimeCode, EntropyPreset::kRaw,
                                           EntropyPreset::kSeqVcr, EntropyPreset::kLayerByLayer,
                                           EntropyPreset::kMatrixEntropy),
                         [](const auto& parameter) {
                           std::string name(enum_name(parameter.param));
                           std::erase(name, '-');
                           return name;
                         });

class MeasurePassesTest : public testing::MeasureTest {};

TEST_F(MeasurePassesTest, ResultsDoNotDependOnTheMemoryForActivations) {
  const Results kept = measured("entropy");
  EXPECT_EQ(kept.provenance.at("repeated_tokens"), 0);
  for (const std::int64_t bytes : {1, 60000}) {
    measure_.activation_memory = ByteSize{bytes};
    const Results again = measured("entropy");
    EXPECT_GT(again.provenance.at("repeated_tokens"), 0) << bytes;
    expect_equal_rows(again, kept, 0.0);
  }
  EXPECT_LT(measured("entropy").provenance.at("repeated_tokens"), kept.provenance.at("tokens"));
}

TEST_F(MeasurePassesTest, ADeviceKeepsNothingUnlessAsked) {
  use_device();
  const Results repeated = measured("entropy");
  EXPECT_EQ(repeated.provenance.at("repeated_tokens"), repeated.provenance.at("tokens"));
  measure_.activation_memory = ByteSize{1 << 24};
  const Results kept = measured("entropy");
  EXPECT_EQ(kept.provenance.at("repeated_tokens"), 0);
  expect_equal_rows(kept, repeated, 1e-12);
}

TEST_F(MeasurePassesTest, ResultsAreBitIdenticalForAnyNumberOfThreads) {
  const Results one = measured("entropy alpha=0.5,2");
  options_.threads = 3;
  expect_equal_rows(measured("entropy alpha=0.5,2"), one, 0.0);
}

TEST_F(MeasurePassesTest, MeasuresEditedActivationsOfSeveralDevices) {
  options_.edit = {"zero attn.hook_z layers=1 heads=0"};
  options_.layers = LayerSelection::parse("1-2");
  const Results expected = captured(prepare_entropy, EntropyAnalysisOptions{});
  expect_equal_rows(measured("entropy"), expected, 0.0);
  options_.edit.clear();
  const Results plain = measured("entropy");
  options_.device = "cpu,cpu";
  expect_equal_rows(measured("entropy"), plain, 0.0);
}

}  // namespace
}  // namespace lime
