// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/token_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "analysis/write_capture.h"
#include "core/errors.h"
#include "explorer/explorer_fixture.h"
#include "explorer/models/capture_rows.h"
#include "explorer/models/text.h"
#include "store/capture_reader.h"

namespace lime::explorer::testing {
namespace {

using Rows = std::vector<std::int64_t>;

std::shared_ptr<const RowTable> tableOf(const std::vector<TokenPlace>& places) {
  auto table = std::make_shared<RowTable>();
  for (const TokenPlace& place : places) {
    table->sequence.push_back(place.sequence);
    table->position.push_back(place.position);
    table->token.push_back(0);
  }
  return table;
}

TEST(TokenRowsTest, RowsOfACaptureOfSomeTokensAreOthersInOneOfAll) {
  const TokenRows all("text", tableOf({{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}}), RowKind::kTokens);
  const TokenRows some("text", tableOf({{0, 2}, {1, 1}}), RowKind::kTokens);
  const TokenSelection selected = some.tokensAt(Rows{1, 0});
  EXPECT_EQ(selected.places, (std::vector<TokenPlace>{{0, 2}, {1, 1}}));
  EXPECT_EQ(all.find(selected).rows, (Rows{2, 4}));
  EXPECT_EQ(all.find(selected).absent, 0U);
  const TokenRows::Found back = some.find(all.tokensAt(Rows{0, 2, 3}));
  EXPECT_EQ(back.rows, Rows{0});
  EXPECT_EQ(back.absent, 2U);
  EXPECT_FALSE(back.is_other_text);
}

TEST(TokenRowsTest, NothingCorrespondsInAnotherText) {
  const TokenRows one("one", tableOf({{0, 0}, {0, 1}}), RowKind::kTokens);
  const TokenRows other("other", tableOf({{0, 0}, {0, 1}}), RowKind::kTokens);
  const TokenRows::Found found = other.find(one.tokensAt(Rows{1}));
  EXPECT_TRUE(found.is_other_text);
  EXPECT_TRUE(found.rows.empty());
  EXPECT_FALSE(other.find({}).is_other_text) << "nothing is of no text";
}

TEST(TokenRowsTest, PooledRowsStandForTheirSequence) {
  const TokenRows tokens("text", tableOf({{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}}),
                         RowKind::kTokens);
  const TokenRows last("text", tableOf({{0, 1}, {1, 2}}), RowKind::kLast);
  const TokenRows mean("text", tableOf({{0, 1}, {1, 2}}), RowKind::kMean);
  EXPECT_EQ(mean.find(tokens.tokensAt(Rows{2, 3})).rows, Rows{1});
  EXPECT_EQ(last.find(tokens.tokensAt(Rows{2, 3})).absent, 2U);
  EXPECT_EQ(last.find(tokens.tokensAt(Rows{4})).rows, Rows{1});
  EXPECT_EQ(tokens.find(mean.tokensAt(Rows{1})).rows, Rows{4});
}

TEST(TokenRowsTest, FindsWhatANaiveSearchFindsAlsoWhereRowsDoNotAscend) {
  std::mt19937 random(7);
  std::vector<TokenPlace> places;
  for (std::int32_t s = 0; s < 40; ++s) {
    for (std::int32_t p = 0; p < 25; ++p) {
      if (random() % 3 != 0) places.push_back({s, p});
    }
  }
  for (const bool ascends : {true, false}) {
    if (!ascends) std::shuffle(places.begin(), places.end(), random);
    const TokenRows rows("text", tableOf(places), RowKind::kTokens);
    TokenSelection wanted{.text = "text"};
    for (std::int32_t s = 0; s < 42; s += 2) wanted.places.push_back({s, 11});
    Rows expected;
    for (std::size_t row = 0; row < places.size(); ++row) {
      if (std::count(wanted.places.begin(), wanted.places.end(), places[row]) != 0) {
        expected.push_back(static_cast<std::int64_t>(row));
      }
    }
    const TokenRows::Found found = rows.find(wanted);
    EXPECT_EQ(found.rows, expected) << "ascends=" << ascends;
    EXPECT_EQ(found.rows.size() + found.absent, wanted.places.size());
  }
}

TEST(TokenRowsTest, ManyTokensAreFoundAmongAMillionRows) {
  std::vector<TokenPlace> places;
  for (std::int32_t s = 0; s < 2000; ++s) {
    for (std::int32_t p = 0; p < 500; ++p) places.push_back({s, p});
  }
  const TokenRows rows("text", tableOf(places), RowKind::kTokens);
  Rows selected(10'000);
  std::generate(selected.begin(), selected.end(),
                [row = std::int64_t{-100}]() mutable { return row += 100; });
  EXPECT_EQ(rows.find(rows.tokensAt(selected)).rows, selected);
}

TEST(TokenSelectionTest, SurvivesTheSessionAndRefusesOtherThings) {
  const TokenSelection tokens{.text = "text", .places = {{0, 3}, {2, 1}}};
  EXPECT_EQ(tokensFromJson(tokensToJson(tokens)), tokens);
  EXPECT_THROW(tokensFromJson(Json::array()), FormatError);
  EXPECT_THROW(tokensFromJson(Json{{"text", "text"}, {"places", {1, 2, 3}}}), FormatError);
}

class CaptureRowsTest : public WorkspaceTest {};

TEST_F(CaptureRowsTest, AreMadeOnceByAJobAndAgainAfterAReload) {
  open({captureFile("a.h5")});
  CaptureRows rows(workspace_, jobs_);
  const auto& document = workspace_.documents().front();
  EXPECT_EQ(rows.of(document), nullptr);
  ASSERT_TRUE(waitUntil([&] { return jobs_.isIdle(); }));
  const TokenRows* const made = rows.of(document);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->size(), 16);
  EXPECT_EQ(rows.of(document), made);
  workspace_.reload(document.id);
  ASSERT_TRUE(waitUntil([&] { return jobs_.isIdle(); }));
  EXPECT_EQ(rows.of(workspace_.documents().front()), nullptr);
  ASSERT_TRUE(waitUntil([&] { return jobs_.isIdle(); }));
  EXPECT_NE(rows.of(workspace_.documents().front()), nullptr);
}

TEST_F(CaptureRowsTest, CapturesWithoutTextHashCorrespondToThemselvesOnly) {
  const CaptureReader a(toPath(captureFile("a.h5")));
  const CaptureReader b(toPath(captureFile("b.h5")));
  EXPECT_EQ(textOf(a), textOf(CaptureReader(a.path())));
  EXPECT_NE(textOf(a), textOf(b));
  EXPECT_EQ(tokensAt(a, Rows{6}).places, (std::vector<TokenPlace>{{1, 1}}));
}

}  // namespace
}  // namespace lime::explorer::testing
