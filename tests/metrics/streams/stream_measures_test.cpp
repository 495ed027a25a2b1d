// SPDX-License-Identifier: Apache-2.0
#include "metrics/streams/stream_measures.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lime {
namespace {

/// Returns the weights of streams that are read and written alike, and mixed by `mixing`.
MatrixF weights_of(const MatrixF& mixing) {
  MatrixF weights(mixing.rows(), mixing.rows() + 2);
  weights << MatrixF::Constant(mixing.rows(), 2, 0.5F), mixing;
  return weights;
}

TEST(StreamMeasuresTest, OrthogonalStreamsOfEqualNormAreAllEffective) {
  const MatrixF streams = 3.0F * MatrixF::Identity(4, 6);
  EXPECT_EQ(stream_energies(streams), VectorD::Constant(4, 0.25));
  const VectorD measures = stream_measures(streams);
  EXPECT_NEAR(measures(0), 4.0, 1e-14);
  EXPECT_EQ(measures(1), 0.25);
  EXPECT_EQ(measures(2), 0.0);
}

TEST(StreamMeasuresTest, OneStreamCanHaveAllEnergy) {
  MatrixF streams = MatrixF::Zero(3, 2);
  streams(1, 0) = -2.0F;
  const VectorD measures = stream_measures(streams);
  EXPECT_EQ(measures(0), 1.0);
  EXPECT_EQ(measures(1), 1.0);
  EXPECT_TRUE(std::isnan(measures(2)));
  EXPECT_EQ(stream_energies(MatrixF::Zero(2, 3)), VectorD::Constant(2, 0.5));
  EXPECT_NEAR(stream_measures(MatrixF::Ones(3, 2))(2), 1.0, 1e-14);
}

TEST(StreamMeasuresTest, IdentityAndUniformAreAtDistanceOne) {
  const VectorD identity = mixing_measures(weights_of(MatrixF::Identity(4, 4)));
  EXPECT_EQ(identity(0), 0.0);
  EXPECT_NEAR(identity(1), 1.0, 1e-14);
  EXPECT_NEAR(identity(2), 4.0, 1e-14);
  const VectorD uniform = mixing_measures(weights_of(MatrixF::Constant(4, 4, 0.25F)));
  EXPECT_NEAR(uniform(0), 1.0, 1e-14);
  EXPECT_EQ(uniform(1), 0.0);
}

TEST(StreamMeasuresTest, CountsTheStreamsThatAreReadAndWritten) {
  MatrixF weights = weights_of(MatrixF::Identity(3, 3));
  weights.col(0) << 0.0F, -1.0F, 0.0F;
  weights.col(1) << 2.0F, -2.0F, 0.0F;
  const VectorD measures = mixing_measures(weights);
  EXPECT_EQ(measures(2), 1.0);
  EXPECT_NEAR(measures(3), 2.0, 1e-14);
}

TEST(StreamMeasuresTest, ASingleStreamHasNoDistances) {
  const VectorD measures = mixing_measures(weights_of(MatrixF::Ones(1, 1)));
  EXPECT_TRUE(std::isnan(measures(0)));
  EXPECT_TRUE(std::isnan(measures(1)));
}

}  // namespace
}  // namespace lime
