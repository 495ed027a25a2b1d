// SPDX-License-Identifier: Apache-2.0
#include "capture/capture_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/capture_setup.h"
#include "core/errors.h"
#include "support/refusal.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

CaptureOptions fit_options() {
  CaptureOptions options;
  options.checkpoint = "model";
  options.text = {"a.txt"};
  return options;
}

std::string options_refusal(const CaptureOptions& options) {
  return testing::refusal_of<InvalidArgument>([&] { options.validate(); });
}

TEST(CaptureOptionsTest, AcceptsTheDefaults) { EXPECT_EQ(options_refusal(fit_options()), ""); }

TEST(CaptureOptionsTest, NamesTheFieldAtFault) {
  const auto with = [](auto change) {
    CaptureOptions options = fit_options();
    change(options);
    return options_refusal(options);
  };
  EXPECT_THAT(with([](auto& o) { o.checkpoint.clear(); }), HasSubstr("checkpoint: "));
  EXPECT_THAT(
      with([](auto& o) { o.tokens = "a.npy"; }),
      HasSubstr(
          "exactly one of --text, --lines, --views, --tokens and --pairs must be given, got 2"));
  EXPECT_THAT(with([](auto& o) { o.text.clear(); }), HasSubstr("got 0"));
  EXPECT_THAT(with([](auto& o) { o.seq_len = 0; }), HasSubstr("seq_len: must be >= 1, got 0"));
  EXPECT_THAT(with([](auto& o) { o.batch_size = 0; }), HasSubstr("batch_size: "));
  EXPECT_THAT(with([](auto& o) { o.max_sequences = 0; }), HasSubstr("max_sequences: "));
  EXPECT_THAT(with([](auto& o) { o.max_per_class = 0; }), HasSubstr("max_per_class: "));
  EXPECT_THAT(with([](auto& o) { o.threads = -1; }), HasSubstr("threads: "));
  EXPECT_THAT(with([](auto& o) { o.output = "caf\xE9.h5"; }),
              HasSubstr("output: the name of a capture must be UTF-8"));
  EXPECT_THAT(with([](auto& o) { o.sites = {"value"}; }), HasSubstr("unknown site 'value'"));
  EXPECT_THAT(with([](auto& o) {
                o.only = {" is"};
                o.rows = RowKind::kMean;
              }),
              HasSubstr("only: selects tokens, but --rows mean makes one row per sequence"));
  EXPECT_THAT(with([](auto& o) { o.only = {" is", " is"}; }), HasSubstr("given only once"));
  EXPECT_THAT(with([](auto& o) { o.output = "folder/"; }), HasSubstr("output: must name a file"));
  EXPECT_THAT(with([](auto& o) {
                o.text.clear();
                o.pairs = {"p.jsonl"};
                o.seq_len = 9;
              }),
              HasSubstr("--pairs are not packed; omit it"));
  EXPECT_THAT(with([](auto& o) {
                o.text.clear();
                o.lines = {"l.txt"};
                o.seq_len = 9;
              }),
              HasSubstr("--lines are not packed; omit it"));
}

TEST(CaptureOptionsTest, KeepsActivationsBesideScoresOnlyWhenAsked) {
  CaptureOptions options = fit_options();
  EXPECT_TRUE(options.keeps_activations());
  EXPECT_THAT(options.selected_sites(), ::testing::ElementsAre("values", "hidden"));
  options.log_likelihood = true;
  EXPECT_FALSE(options.keeps_activations());
  options.rows = RowKind::kMean;
  EXPECT_TRUE(options.keeps_activations());
  options.rows = RowKind::kTokens;
  options.sites = {"hidden"};
  EXPECT_TRUE(options.keeps_activations());
  EXPECT_THAT(options.selected_sites(), ::testing::ElementsAre("hidden"));
}

TEST(CaptureOptionsTest, TellsWhatTheFileHoldsFromHowItWasMade) {
  CaptureOptions options = fit_options();
  const Json before = content_options(options, {});
  options.threads = 3;
  options.resume = true;
  options.shard = WorkShare{1, 2};
  options.output = "elsewhere.h5";
  options.quiet = true;
  EXPECT_EQ(content_options(options, {}), before);
  options.store = StorageType::kFloat16;
  EXPECT_NE(content_options(options, {}), before);
}

}  // namespace
}  // namespace lime
