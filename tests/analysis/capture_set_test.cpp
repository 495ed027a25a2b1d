// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/capture_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stop_token>
#include <string>

#include "analysis/engine/inputs.h"
#include "analysis/write_capture.h"
#include "core/errors.h"
#include "core/files/sha256.h"
#include "core/utf8.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using testing::example_capture;
using testing::TemporaryFolder;
using testing::write_capture;

std::string refusal(const CaptureSetOptions& options) {
  return testing::refusal_of([&] { open_captures(options); });
}

TEST(DefaultLabelsTest, TakesTheNameOfTheFileOrOfItsFolder) {
  EXPECT_THAT(default_labels({"out/llama.h5", "out/lime.h5"}), ElementsAre("llama", "lime"));
  EXPECT_THAT(default_labels({"/x/llama/capture.h5", "/x/lime/capture.h5"}),
              ElementsAre("llama", "lime"));
  EXPECT_THAT(default_labels({"a/x.h5", "b/x.h5"}), ElementsAre("a/x.h5", "b/x.h5"));
  EXPECT_THAT(default_labels({"model-0.5", "model-0.7"}), ElementsAre("model-0.5", "model-0.7"));
  EXPECT_THAT(default_labels({"x.h5", "x.h5"}), ElementsAre("x.h5 (1)", "x.h5 (2)"));
}

TEST(CaptureSetOptionsTest, LabelsMustFitTheCaptures) {
  CaptureSetOptions options;
  options.captures = {"a.h5", "b.h5"};
  options.label = {"one"};
  EXPECT_EQ(refusal(options),
            "label: expected one name per capture, got 1 (one) for 2 captures; put the captures "
            "before --label");
  options.label = {"LLaMA", "seed 1", "LIMe", "seed 1"};
  EXPECT_EQ(refusal(options),
            "label: expected one name per capture, got 4 (LLaMA, seed 1, LIMe, seed 1) for 2 "
            "captures; put the captures before --label; a comma separates labels, write '\\,' for "
            "a comma inside a label");
  options.label = {"one", "one"};
  EXPECT_EQ(refusal(options), "label: names must be unique, got one, one");
  options.label = {"one", "two"};
  options.site = {"values", "values"};
  EXPECT_EQ(refusal(options), "site: every name must be unique, got values, values");
}

TEST(CaptureSetOptionsTest, ACaptureTakenForALabelIsNamed) {
  const TemporaryFolder folder;
  write_capture(folder / "x.h5", example_capture());
  CaptureSetOptions options;
  const std::string swallowed = (folder / "x.h5").string();
  options.label = {"A", swallowed};
  EXPECT_EQ(refusal(options), "label: expected one name per capture, got 2 (A, " + swallowed +
                                  ") for 1 capture; '" + printable(swallowed) +
                                  "' was read as a label, put the captures before --label");
}

TEST(OpenCapturesTest, MatchesTheLengthsOfSequences) {
  const TemporaryFolder folder;
  write_capture(folder / "x.h5", example_capture());  // sequences of 5, 8 and 3 tokens
  CaptureSetOptions options;
  options.captures = {folder / "x.h5"};
  options.match_length = MatchedLength::automatic();
  const std::vector<ChosenCapture> matched = open_captures(options);
  const CaptureReader& reader = matched.front().reader;
  EXPECT_THAT(reader.offsets(), ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(reader.rows().position, ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2));
  const CaptureReader whole(folder / "x.h5");
  EXPECT_EQ(reader.read_sequence("hidden", 0, 1), whole.read_rows("hidden", 0, 5, 3));
  EXPECT_THAT(matched.front().notes, ElementsAre("x: the first 3 tokens of every sequence"));

  options.match_length = MatchedLength(4);
  EXPECT_EQ(refusal(options), "match_length: sequence 2 of '" + (folder / "x.h5").string() +
                                  "' has 3 tokens, expected at least 4; pass a smaller number, or "
                                  "auto");
  options.max_sequences = 2;
  EXPECT_THAT(open_captures(options).front().reader.offsets(), ElementsAre(0, 4, 8, 11));
  options.skip_tokens = 1;
  EXPECT_THAT(open_captures(options).front().reader.rows().position,
              ElementsAre(1, 2, 3, 4, 1, 2, 3, 4, 1, 2));
}

TEST(MatchedLengthTest, ReadsANumberOrAuto) {
  EXPECT_TRUE(OptionCodec<MatchedLength>::parse("auto", "match_length").is_automatic());
  EXPECT_EQ(OptionCodec<MatchedLength>::parse("64", "match_length").tokens(), 64);
  const auto refused = [](const char* text) {
    return testing::refusal_of([&] { OptionCodec<MatchedLength>::parse(text, "match_length"); });
  };
  EXPECT_EQ(refused("1"), "match_length: must be >= 2, or auto, got 1");
  EXPECT_EQ(refused("x"), "match_length: expected a whole number or auto, got 'x'");
}

TEST(OpenCapturesTest, SaysHowToFinishACaptureThatWasBegun) {
  const TemporaryFolder folder;
  write_capture(folder / "k.h5", example_capture());
  std::filesystem::remove(folder / "k.h5");
  CaptureSetOptions options;
  options.captures = {folder / "k.h5"};
  EXPECT_EQ(refusal(options),
            "'" + (folder / "k.h5").string() + "': does not exist yet; '" +
                (folder / "k.shards").string() +
                "' contains an unfinished run (1 of 1 shards); use --resume to continue");
}

TEST(OpenCapturesTest, ChoosesSitesAndLayers) {
  const TemporaryFolder folder;
  write_capture(folder / "a.h5", example_capture());
  CaptureSetOptions options;
  options.captures = {folder / "a.h5"};
  auto captures = open_captures(options);
  ASSERT_EQ(captures.size(), 1u);
  EXPECT_EQ(captures[0].label, "a");
  ASSERT_EQ(captures[0].parts.size(), 2u);
  EXPECT_EQ(captures[0].parts[0].site, "values");
  EXPECT_THAT(captures[0].parts[1].layers, ElementsAre(0, 1));

  options.site = {"hidden"};
  options.layer = LayerSelection::parse("1");
  captures = open_captures(options);
  ASSERT_EQ(captures[0].parts.size(), 1u);
  EXPECT_EQ(captures[0].parts[0].site, "hidden");
  EXPECT_THAT(captures[0].parts[0].layers, ElementsAre(1));
}

TEST(OpenCapturesTest, TakesAttentionPatternsOnlyWhereTheyAreNamed) {
  const TemporaryFolder folder;
  testing::SmallCapture capture = example_capture();
  capture.activations.push_back({"attn.hook_pattern", 0, testing::random_matrix(16, 8, 1)});
  write_capture(folder / "a.h5", capture);
  CaptureSetOptions options;
  options.captures = {folder / "a.h5"};
  ASSERT_EQ(open_captures(options)[0].parts.size(), 2u);
  options.site = {"attn.hook_pattern"};
  EXPECT_EQ(open_captures(options)[0].parts.at(0).site, "attn.hook_pattern");

  capture.activations.erase(capture.activations.begin(), capture.activations.end() - 1);
  write_capture(folder / "b.h5", capture);
  options.captures = {folder / "b.h5"};
  options.site = {};
  EXPECT_EQ(refusal(options),
            "'" + (folder / "b.h5").string() +
                "': contains only site 'attn.hook_pattern', which is not a representation; use "
                "lime-metrics attention, or select it with --site");
}

TEST(OpenCapturesTest, SitePaperIsWhatAttentionReads) {
  const TemporaryFolder folder;
  write_capture(folder / "llama.h5", example_capture());
  testing::SmallCapture routed = example_capture();
  CaptureSetOptions options;
  options.captures = {folder / "llama.h5", folder / "lime.h5"};
  options.site = {"paper"};
  for (const char* const decoder : {"lime", "resformer", "depth_attention"}) {
    routed.config = {{"model_type", decoder}};
    options.captures[1] = folder / (decoder + std::string(".h5"));
    write_capture(options.captures[1], routed);
    EXPECT_EQ(refusal(options),
              "'" + options.captures[1].string() +
                  "': contains no site 'routed_values', which --site paper uses for this decoder "
                  "(its sites: values, hidden); capture again with --sites values,routed_values");
  }

  const std::int64_t num_rows = routed.activations[0].rows.rows();
  for (const int layer : {0, 1}) {
    routed.activations.push_back({"routed_values", layer, testing::random_matrix(num_rows, 4, 9)});
  }
  write_capture(folder / "routed.h5", routed);
  options.captures[1] = folder / "routed.h5";
  const auto captures = open_captures(options);
  const auto rows_of = [](const ChosenCapture& capture, const std::string& site) {
    EXPECT_EQ(capture.reader.statistics(site, 1).count, capture.reader.num_rows());
    return capture.reader.read_all(site, 1);
  };
  for (const ChosenCapture& capture : captures) {
    EXPECT_EQ(capture.parts.at(0).site, "paper");
    EXPECT_THAT(capture.parts.at(0).layers, ElementsAre(0, 1));
  }
  EXPECT_EQ(rows_of(captures[0], "paper"), rows_of(captures[0], "values"));
  EXPECT_EQ(rows_of(captures[1], "paper"), rows_of(captures[1], "routed_values"));
  EXPECT_THAT(describe_sequences(captures[1]),
              ::testing::EndsWith("routed.h5; paper is routed_values"));
}

TEST(OpenCapturesTest, SaysWhatThereIsWhereAnythingIsMissing) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.h5";
  write_capture(path, example_capture());
  CaptureSetOptions options;
  options.captures = {path};
  options.site = {"keys"};
  EXPECT_EQ(refusal(options), "'" + path + "': unknown site 'keys' (its sites: values, hidden)");
  options.site = {"hidden"};
  options.layer = LayerSelection::parse("0,5");
  EXPECT_EQ(refusal(options),
            "'" + path + "': site 'hidden': layer 5 does not exist (available: 0-1)");
  options.captures = {folder / "none.h5"};
  EXPECT_EQ(refusal(options),
            "'" + (folder / "none.h5").string() +
                "': no such file; give the path of a capture, or write one with lime-capture");
}

TEST(HashInputsTest, ChangesWithTheContentAndNotWithTheThreads) {
  const TemporaryFolder folder;
  write_capture(folder / "a.h5", example_capture(1));
  write_capture(folder / "b.h5", example_capture(2));
  CaptureSetOptions options;
  options.captures = {folder / "a.h5", folder / "b.h5"};
  const auto captures = open_captures(options);
  const auto inputs = hash_inputs(capture_inputs(captures), 1);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[1].label, "b");
  EXPECT_EQ(inputs[1].path, (folder / "b.h5").string());
  EXPECT_NE(inputs[0].sha256, inputs[1].sha256);
  EXPECT_EQ(inputs[0].text_sha256, captures[0].reader.info().input_sha256);
  const auto again = hash_inputs(capture_inputs(captures), 3);
  EXPECT_EQ(inputs[0].sha256, again[0].sha256);
  EXPECT_EQ(inputs[1].sha256, again[1].sha256);
}

TEST(HashInputsTest, StopsWithinAFile) {
  const TemporaryFolder folder;
  write_capture(folder / "a.h5", example_capture(1));
  CaptureSetOptions options;
  options.captures = {folder / "a.h5"};
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(hash_inputs(capture_inputs(open_captures(options)), 1, stop.get_token()),
               Interrupted);
}

}  // namespace
}  // namespace lime
