// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/written_norms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/write_capture.h"
#include "store/capture_reader.h"
#include "support/test_data.h"

namespace lime {
namespace {

/// Returns a row of each norm, (0.6, 0.8) times it.
MatrixF rows_of_norms(const std::vector<float>& norms) {
  MatrixF rows(static_cast<Eigen::Index>(norms.size()), 2);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    const float norm = norms[static_cast<std::size_t>(i)];
    rows.row(i) << 0.6F * norm, 0.8F * norm;
  }
  return rows;
}

class WrittenNormsTest : public ::testing::Test {
 protected:
  void SetUp() override { capture_.lengths = {5}; }
  void add(const std::string& site, int layer, const MatrixF& rows) {
    capture_.activations.push_back({site, layer, rows});
  }
  WrittenNorms norms(std::int64_t num_rows = 100) {
    const auto path = folder_ / (std::to_string(num_rows) + ".h5");
    testing::write_capture(path, capture_);
    return written_norms(CaptureReader(path), num_rows);
  }

  testing::TemporaryFolder folder_;
  testing::SmallCapture capture_;
};

TEST_F(WrittenNormsTest, AreMediansThatAMassiveTokenDoesNotMove) {
  add("hook_attn_out", 0, rows_of_norms({1, 2, 3, 4, 5}));
  add("hook_attn_out", 1, rows_of_norms({4000, 8, 7, 9, 6}));
  add("hook_mlp_out", 0, rows_of_norms({2, 2, 2, 2, 2}));
  const WrittenNorms written = norms();
  ASSERT_EQ(written.attention.size(), 2U);
  EXPECT_NEAR(written.attention[0], 3.0, 1e-5);  // float rows
  EXPECT_NEAR(written.attention[1], 8.0, 1e-5);
  ASSERT_EQ(written.mlp.size(), 1U);
  EXPECT_NEAR(written.mlp[0], 2.0, 1e-5);
  EXPECT_TRUE(written.both.empty()) << "without hidden";
  EXPECT_TRUE(written.stream.empty());
}

TEST_F(WrittenNormsTest, OfBothPartsAreThoseOfTheChangeOfTheStream) {
  const MatrixF first = rows_of_norms({1, 1, 1, 1, 10});
  add("hidden", 0, first);
  add("hidden", 1, first + rows_of_norms({2, 4, 6, 8, 1000}));
  const WrittenNorms written = norms();
  ASSERT_EQ(written.stream.size(), 2U);
  EXPECT_NEAR(written.stream[0], 1.0, 1e-5);
  EXPECT_NEAR(written.stream[1], 7.0, 1e-5);
  ASSERT_EQ(written.both.size(), 2U);
  EXPECT_TRUE(std::isnan(written.both[0])) << "nothing is before layer 0";
  EXPECT_NEAR(written.both[1], 6.0, 1e-5);
  EXPECT_TRUE(written.attention.empty());
}

TEST_F(WrittenNormsTest, OfLayersThatWereNotCapturedAreNan) {
  add("hook_mlp_out", 2, rows_of_norms({1, 1, 1, 1, 1}));
  add("hidden", 0, rows_of_norms({1, 1, 1, 1, 1}));
  add("hidden", 2, rows_of_norms({5, 5, 5, 5, 5}));
  const WrittenNorms written = norms();
  ASSERT_EQ(written.mlp.size(), 3U);
  EXPECT_TRUE(std::isnan(written.mlp[0]) && std::isnan(written.mlp[1]));
  ASSERT_EQ(written.both.size(), 3U);
  EXPECT_TRUE(std::isnan(written.stream[1]));
  EXPECT_TRUE(std::isnan(written.both[2])) << "layer 1 is missing: the change is of two layers";
}

TEST_F(WrittenNormsTest, AreOfTheFirstRowsAndTheLowerMedianOfAnEvenNumber) {
  add("hook_attn_out", 0, rows_of_norms({3, 1, 9, 9, 9}));
  EXPECT_NEAR(norms(1).attention[0], 3.0, 1e-5);
  EXPECT_NEAR(norms(2).attention[0], 1.0, 1e-5);
}

}  // namespace
}  // namespace lime
