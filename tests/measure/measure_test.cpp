// SPDX-License-Identifier: Apache-2.0
#include "measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/entropy/entropy_analysis.h"
#include "analysis/geometry/geometry_analysis.h"
#include "analysis/lens/lens_analysis.h"
#include "measure/measure_fixture.h"
#include "store/capture_reader.h"

namespace lime {
namespace {

using ::testing::Contains;
using testing::expect_equal_rows;
using ::testing::HasSubstr;
using testing::MeasureTest;
using testing::tiny_text;
using testing::write_text;

TEST_F(MeasureTest, StoresTheResultsWithTheirProvenance) {
  const Results written = (measured("entropy"), read_results(options_.output));
  EXPECT_EQ(written.metric, "entropy");
  EXPECT_EQ(written.options.at("captures"), Json::array());
  EXPECT_EQ(written.options.at("preset"), "lime-code");
  ASSERT_EQ(written.inputs.size(), 1U);
  EXPECT_EQ(written.inputs[0].label, "model");
  EXPECT_EQ(written.inputs[0].sha256.size(), 64U);
  EXPECT_EQ(written.provenance.at("dtype"), "float32");
  EXPECT_EQ(written.provenance.at("capture").at("seq_len"), 20);
  EXPECT_FALSE(written.provenance.contains("device"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "results.h5"));
}

TEST_F(MeasureTest, NamesTheModelWithLabel) {
  EXPECT_EQ(measured("entropy label=tiny").rows.front().text(col::kLabel), "tiny");
}

TEST_F(MeasureTest, StoresACaptureOfTheFirstSequences) {
  options_.max_sequences = 5;
  measure_.store_sequences = 2;
  measured("entropy");
  const CaptureReader sample(folder_ / "results.h5");
  EXPECT_EQ(sample.num_sequences(), 2);
  CaptureOptions capture = options_;
  capture.max_sequences = 2;
  capture.output = folder_ / "capture.h5";
  run_capture(capture);
  EXPECT_EQ(sample.read_all("hidden", 1), CaptureReader(capture.output).read_all("hidden", 1));
}

TEST_F(MeasureTest, RefusesToReplaceStoredSequences) {
  measure_.store_sequences = 2;
  measured("entropy");
  EXPECT_THAT(refusal("entropy"),
              HasSubstr("results.h5' already exists; remove it, or use another -o"));
}

TEST_F(MeasureTest, RefusesOptionsThatNeedStoredActivations) {
  EXPECT_EQ(refusal("entropy site=values"),
            "measure: entropy cannot have the option 'site'; pass --sites to lime-capture");
  EXPECT_EQ(refusal("entropy max-sequences=3"),
            "measure: entropy cannot have the option 'max-sequences'; pass --max-sequences to "
            "lime-capture");
  EXPECT_EQ(refusal("entropy presets=raw"),
            "measure: entropy has no option 'presets'; lime-metrics entropy --help lists them");
  EXPECT_EQ(refusal("entropy alpha=1 alpha=2"),
            "measure: the option 'alpha' of entropy is given twice");
  EXPECT_EQ(refusal("entropy preset=diff-erank"),
            "measure: the preset diff-erank compares two models; store captures of both, and use "
            "lime-metrics entropy");
  EXPECT_THAT(refusal("entropy preset=rav"), HasSubstr("preset: expected one of lime-code"));
}

TEST_F(MeasureTest, RefusesSequencesThatAreTooShort) {
  EXPECT_EQ(refusal("entropy skip-tokens=19"),
            "measure: sequence 0 has 20 tokens, of which skip-tokens omits 19, but entropy needs "
            "at least 2; measure without it");
}

TEST_F(MeasureTest, SkipsSequencesOfOneTokenAsTheAnalysesOfACaptureDo) {
  use_lines();
  options_.bos = BosPolicy::kNever;  // tokens are bytes
  write_text(folder_ / "short.txt",
             "O\n" + tiny_text(12) + "\nO\n" + tiny_text(30) + "\n" + tiny_text(7) + "\nO\n");
  options_.lines = {folder_ / "short.txt"};
  const std::string note = "model: skipped 3 sequences of fewer than 2 tokens";
  for (const std::string device : {"", "device"}) {
    const double tolerance = device.empty() ? 1e-12 : 1e-6;
    const Results entropies = captured(prepare_entropy, EntropyAnalysisOptions{}, {"hidden"});
    const Results ranks = captured(prepare_geometry, GeometryAnalysisOptions{}, {"hidden"});
    const Results lenses = captured(prepare_lens, LensOptions{}, {"logit_lens"});
    if (!device.empty()) use_device();
    options_.sites = {"hidden"};
    expect_equal_rows(measured("entropy"), entropies, tolerance);
    EXPECT_THAT(run_measure(options_, measure_).reports.front().remarks, Contains(note)) << device;
    expect_equal_rows(measured("geometry"), ranks, tolerance);
    options_.sites.clear();
    expect_equal_rows(measured("lens"), lenses, tolerance);
  }
  write_text(folder_ / "short.txt", "O\nO\n");
  EXPECT_EQ(refusal("entropy"),
            "measure: all 2 sequences have fewer than 2 tokens; use longer ones");
}

TEST_F(MeasureTest, RefusesSitesThatAreNoRepresentations) {
  options_.sites = {"hidden", "logit_lens"};
  EXPECT_EQ(refusal("entropy"),
            "sites: 'logit_lens' is not a representation, but entropy and geometry need one; omit "
            "it");
}

TEST_F(MeasureTest, RefusesLeadingEigenvaluesOnADevice) {
  use_device();
  EXPECT_EQ(refusal("entropy top-k=2"), "measure: top-k is supported on the CPU only; omit it");
}

TEST_F(MeasureTest, RefusesAMemoryLimitThatIsTooSmall) {
  options_.memory_limit = ByteSize{1 << 20};
  EXPECT_THAT(refusal("entropy"), HasSubstr("memory_limit: 1M is too little"));
  options_.memory_limit.reset();
  const Results expected = measured("entropy");
  // As much as a capture needs at least, and some more for the meters.
  options_.memory_limit = ByteSize{resident_memory() + (std::int64_t{200} << 20)};
  testing::expect_equal_rows(measured("entropy"), expected, 0.0);
}

TEST_F(MeasureTest, StopsOnRequest) {
  std::stop_source source;
  source.request_stop();
  measure_.measure = {"entropy"};
  EXPECT_EQ(testing::refusal_of([&] { run_measure(options_, measure_, {}, source.get_token()); }),
            "measure: interrupted; nothing was written, run the command again");
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

}  // namespace
}  // namespace lime
