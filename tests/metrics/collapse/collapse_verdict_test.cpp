// SPDX-License-Identifier: Apache-2.0
#include "metrics/collapse/collapse_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/collapse/collapse_layers.h"
#include "metrics/collapse/collapse_sentences.h"

namespace lime {
namespace {

using testing::CollapseLayer;
using ::testing::HasSubstr;

CollapseLayer plain(std::uint64_t seed = 1) {
  CollapseLayer layer;
  layer.set_plain(seed);
  return layer;
}

/// Calls `add` with a strength on a plain layer. @return the verdict
template <typename Add> std::string verdict_with(double strength, const Add& add) {
  CollapseLayer layer = plain();
  add(layer, strength);
  return layer.verdict();
}

TEST(CollapseVerdictTest, FindsNothingInAPlainLayer) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) EXPECT_EQ(plain(seed).verdict(), "none");
}

TEST(CollapseVerdictTest, TurnsAtHalfOfTheTrace) {
  const auto massive = [](CollapseLayer& layer, double s) { layer.add_massive_tokens(s); };
  // 48 tokens: a token of 3.6 times the norm is no outlier, one of 9 carries 0.63 of the trace.
  for (const double s : {0.0, 1.0, 3.0}) EXPECT_EQ(verdict_with(s, massive), "none") << s;
  for (const double s : {9.0, 20.0, 170.0}) {
    EXPECT_EQ(verdict_with(s, massive), "massive tokens") << s;
  }
  const auto dimension = [](CollapseLayer& layer, double s) { layer.add_outlier_dimension(s); };
  for (const double s : {0.3, 0.9}) EXPECT_EQ(verdict_with(s, dimension), "none") << s;
  for (const double s : {1.1, 3.0, 30.0}) {
    EXPECT_EQ(verdict_with(s, dimension), "outlier dimensions") << s;
  }
  const auto common = [](CollapseLayer& layer, double s) { layer.add_common_direction(s); };
  for (const double s : {0.3, 0.9}) EXPECT_EQ(verdict_with(s, common), "none") << s;
  for (const double s : {1.1, 3.0, 30.0}) {
    EXPECT_EQ(verdict_with(s, common), "common direction") << s;
  }
  const auto equal = [](CollapseLayer& layer, double s) { layer.add_equal_tokens(s, 5); };
  for (const double s : {0.3, 0.8}) EXPECT_EQ(verdict_with(s, equal), "none") << s;
  for (const double s : {1.2, 3.0, 30.0}) EXPECT_EQ(verdict_with(s, equal), "rank collapse") << s;
}

TEST(CollapseVerdictTest, TurnsAtATenthOfTheRank) {
  for (const std::int64_t directions : {64, 32, 20}) {
    CollapseLayer layer = plain();
    layer.keep_directions(directions, 6);
    EXPECT_EQ(layer.verdict(), "none") << directions;
  }
  for (const std::int64_t directions : {6, 4, 2}) {
    CollapseLayer layer = plain();
    layer.keep_directions(directions, 6);
    EXPECT_EQ(layer.verdict(), "dimensional collapse") << directions;
  }
}

TEST(CollapseVerdictTest, IsUndecidedIfTheIntervalIncludesTheThreshold) {
  CollapseLayer layer = plain();
  layer.add_common_direction(1.0);
  EXPECT_EQ(layer.verdict(), "common direction (undecided)");
}

TEST(CollapseVerdictTest, TellsPairsOfCausesApart) {
  const auto pair = [](const auto& first, const auto& second) {
    CollapseLayer layer = plain();
    first(layer);
    second(layer);
    return layer.verdict();
  };
  const auto massive = [](CollapseLayer& layer) { layer.add_massive_tokens(60.0); };
  const auto dimension = [](CollapseLayer& layer) { layer.add_outlier_dimension(6.0); };
  const auto common = [](CollapseLayer& layer) { layer.add_common_direction(3.0); };
  const auto equal = [](CollapseLayer& layer) { layer.add_equal_tokens(3.0, 5); };
  const auto few = [](CollapseLayer& layer) { layer.keep_directions(4, 6); };
  EXPECT_EQ(pair(dimension, massive), "massive tokens, outlier dimensions");
  EXPECT_EQ(pair(common, massive), "massive tokens, common direction");
  EXPECT_EQ(pair(equal, massive), "massive tokens, rank collapse");
  EXPECT_EQ(pair(few, massive), "massive tokens, dimensional collapse");
  EXPECT_EQ(pair(common, dimension), "outlier dimensions, common direction");
  EXPECT_EQ(pair(equal, dimension), "outlier dimensions, rank collapse");
  EXPECT_EQ(pair(few, dimension), "outlier dimensions, dimensional collapse");
  EXPECT_EQ(pair(few, common), "common direction, dimensional collapse");
  EXPECT_EQ(pair(few, equal), "rank collapse, dimensional collapse");
}

TEST(CollapseVerdictTest, SeesAMassiveTokenBehindAStrongerCause) {
  // The norms of all tokens are nearly equal: only the distance from the mean shows the token.
  CollapseLayer layer = plain();
  layer.add_massive_tokens(30.0);
  layer.add_common_direction(40.0);
  EXPECT_EQ(layer.verdict(), "massive tokens, common direction");
  layer = plain();
  layer.add_massive_tokens(30.0);
  layer.add_outlier_dimension(40.0);
  EXPECT_EQ(layer.verdict(), "massive tokens, outlier dimensions");
}

TEST(CollapseVerdictTest, ExplainsWhatRepeatedTokensWouldGive) {
  CollapseLayer layer = plain();
  layer.repeat_tokens(7);
  EXPECT_EQ(layer.verdict(), "repetition");
  for (std::size_t i = 0; i < layer.ids.size(); ++i) layer.ids[i] = static_cast<std::int32_t>(i);
  EXPECT_EQ(layer.verdict(), "rank collapse");
}

TEST(CollapseVerdictTest, CallsEqualRowsRankCollapse) {
  CollapseLayer layer = plain();
  layer.rows *= 0.001F;
  layer.add_common_direction(1.0);
  EXPECT_THAT(layer.verdict(), HasSubstr("rank collapse"));
  layer.rows.setOnes();
  EXPECT_THAT(layer.verdict(), HasSubstr("rank collapse"));
}

TEST(CollapseVerdictTest, SurvivesShortSequencesAndFewOfThem) {
  for (const std::int64_t sequences : {1, 2, 5}) {
    CollapseLayer layer{.sequences = sequences, .tokens = 2, .dim = 64};
    layer.set_plain(8);
    EXPECT_EQ(layer.verdict().find("collapse"), std::string::npos) << sequences;
  }
}

TEST(CollapseVerdictTest, FindingsHaveAText) {
  const std::vector<CollapseFinding> findings = {{CollapseCause::kMassiveTokens, true},
                                                 {CollapseCause::kRankCollapse, false}};
  EXPECT_EQ(findings_text(findings), "massive tokens, rank collapse (undecided)");
  EXPECT_EQ(findings_text({}), "none");
}

LayerFacts facts_of(int layer, const CollapseLayer& rows) {
  LayerFacts facts;
  facts.layer = layer;
  facts.causes = rows.measure();
  facts.massive = summarize_massive(facts.causes.massive, rows.ids, {});
  facts.findings = findings_of(facts.causes, {});
  return facts;
}

TEST(CollapseSentencesTest, GroupLayersWithTheSameFindings) {
  CollapseLayer massive = plain();
  massive.add_massive_tokens(60.0);
  const std::vector<LayerFacts> layers = {facts_of(0, plain()), facts_of(1, massive),
                                          facts_of(2, massive), facts_of(4, massive)};
  const std::vector<FindingRange> ranges = ranges_of(layers);
  ASSERT_EQ(ranges.size(), 3U);  // layer 3 was not captured
  EXPECT_EQ(ranges[1].first, 1U);
  EXPECT_EQ(ranges[1].last, 2U);
  const std::string sentence =
      sentence_of(std::span(layers).subspan(1, 2), {}, {}, [](std::int32_t) {
        return "The";
      }).text();
  EXPECT_THAT(sentence, HasSubstr("layers 1 to 2: massive tokens; the rest does not collapse: "));
  EXPECT_THAT(sentence, HasSubstr("24 of 1152 tokens"));
  EXPECT_THAT(sentence, HasSubstr("mostly in dimension 7"));
  const std::string against =
      sentence_of(std::span(layers).subspan(1, 2), std::span(layers).subspan(1, 2), {}, {}).text();
  EXPECT_THAT(against, HasSubstr("random weights show massive tokens too: architecture"));
  const std::string removed =
      sentence_of(std::span(layers).first(1), std::span(layers).subspan(1, 1), {}, {}).text();
  EXPECT_THAT(removed, HasSubstr("random weights show massive tokens, which training removed"));
}

TEST(CollapseSentencesTest, SayWhatCannotBeDecided) {
  CollapseLayer one{.sequences = 1};
  one.set_plain(9);
  const std::vector<LayerFacts> layers = {facts_of(0, one)};
  EXPECT_THAT(caveats_of(layers, false, "--random"),
              ::testing::Contains(HasSubstr("one sequence: a common direction")));
  EXPECT_THAT(caveats_of(layers, false, "--random"), ::testing::Contains(HasSubstr("one layer")));
  EXPECT_THAT(caveats_of(layers, false, "--random"),
              ::testing::Contains(HasSubstr("random weights on the same text (--random)")));
  EXPECT_THAT(caveats_of(layers, true, "--random"),
              ::testing::Not(::testing::Contains(HasSubstr("--random"))));
}

}  // namespace
}  // namespace lime
