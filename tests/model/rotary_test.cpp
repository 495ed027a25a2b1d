// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/rotary.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "checkpoint/parse_model_config.h"
#include "core/json.h"
#include "model/kernels/linear.h"
#include "model/model_fixture.h"
#include "support/test_data.h"

namespace lime {
namespace {

at::Tensor as_double(const at::Tensor& x) { return x.to(at::kDouble); }

double mean_relative(const at::Tensor& found, const at::Tensor& expected) {
  return ((found - expected) / expected).abs().mean().item<double>();
}

double largest_relative(const at::Tensor& found, const at::Tensor& expected) {
  return ((found - expected) / expected).abs().max().item<double>();
}

TEST(RotaryFrequenciesTest, AreThoseOfTransformersInFloat32) {
  const auto path = testing::golden_file("rotary_frequencies.json");
  for (const Json& golden : parse_json(testing::read_text(path), path.string())) {
    const ModelConfig config = parse_model_config(golden["config"], path.string());
    const RopeSpec& rope = config.spec.ropes.at(0);
    const auto length = golden["length"].get<std::int64_t>();
    const at::Tensor expected =
        torch::tensor(golden["frequencies"].get<std::vector<double>>(), torch::kDouble);
    const at::Tensor found = rotary_frequencies(rope, config.rotary_dim(), torch::kFloat, length);
    EXPECT_EQ(found.scalar_type(), at::kFloat);
    // pow() of CPUs and LibTorch versions may differ by an ulp for some dimensions. Frequencies
    // rounded from float64 differ for most, by 1e-7 on average.
    EXPECT_LT(mean_relative(as_double(found), expected), 2e-8) << golden["config"].dump();
    // In float64 only the rounding of the goldens remains, see above.
    const at::Tensor wide = rotary_frequencies(rope, config.rotary_dim(), torch::kDouble, length);
    EXPECT_LT(largest_relative(wide, expected), 2e-6) << golden["config"].dump();
  }
}

TEST(RotaryAnglesTest, RoundTheCosineOfTheFloat32ProductOnce) {
  const at::Tensor frequencies = rotary_frequencies({.theta = 1e5}, 64, torch::kFloat);
  const RotaryAngles angles = rotary_angles(frequencies, 1.0, 900, 200, torch::kFloat);
  const at::Tensor positions = torch::arange(900, 1100, torch::kFloat);
  const at::Tensor products = as_double(torch::outer(positions, frequencies));
  // Half an ulp of a value in [1/2, 1]: transformers' float32 functions are within one ulp.
  constexpr double kHalfUlp = 0x1p-25;
  EXPECT_LE(testing::max_difference(as_double(angles.cos), products.cos()), kHalfUlp);
  EXPECT_LE(testing::max_difference(as_double(angles.sin), products.sin()), kHalfUlp);
}

TEST(RotaryAnglesTest, DoNotDependOnTheFirstPosition) {
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    const at::Tensor frequencies = rotary_frequencies({.theta = 1e4}, 20, type);
    const RotaryAngles all = rotary_angles(frequencies, 1.0, 0, 300, type);
    const RotaryAngles last = rotary_angles(frequencies, 1.0, 250, 50, type);
    // In float64 LibTorch's cosine of a vector register and of single values may differ by an ulp.
    const double ulp = type == torch::kFloat ? 0.0 : 0x1p-53;
    EXPECT_LE(testing::max_difference(all.cos.narrow(0, 250, 50), last.cos), ulp);
    EXPECT_LE(testing::max_difference(all.sin.narrow(0, 250, 50), last.sin), ulp);
  }
}

/// Moves the even dimensions of heads before the odd ones.
at::Tensor halves_of(const at::Tensor& x) {
  return torch::cat({x.slice(3, 0, x.size(3), 2), x.slice(3, 1, x.size(3), 2)}, 3);
}

TEST(RotateTest, RotatesNeighboursAsItRotatesHalves) {
  const at::Tensor frequencies = rotary_frequencies({.theta = 1e4}, 6, torch::kDouble);
  const RotaryAngles halves = rotary_angles(frequencies, 1.0, 3, 5, torch::kDouble);
  RotaryAngles neighbours = halves;
  neighbours.interleaved = true;
  const at::Tensor x = torch::randn({2, 5, 3, 6}, torch::kDouble);
  const at::Tensor expected = rotate(halves_of(x), halves);
  // A compiler may round products of one loop and not of the other.
  EXPECT_LE(testing::max_difference(halves_of(rotate(x, neighbours)), expected), 1e-15);
  const at::Tensor in_place = x.clone();
  rotate_in_place(in_place, neighbours);
  EXPECT_LE(testing::max_difference(halves_of(in_place), expected), 1e-15);
}

TEST(RotateTest, LeavesTheOtherDimensionsOfAHead) {
  const at::Tensor frequencies = rotary_frequencies({.theta = 1e4}, 4, torch::kDouble);
  RotaryAngles angles = rotary_angles(frequencies, 1.0, 0, 5, torch::kDouble);
  angles.interleaved = true;
  const at::Tensor x = torch::randn({2, 5, 3, 10}, torch::kDouble);
  const at::Tensor found = rotate(x, angles);
  EXPECT_TRUE(found.slice(3, 4).equal(x.slice(3, 4)));
  EXPECT_TRUE(found.slice(3, 0, 4).equal(rotate(x.slice(3, 0, 4), angles)));
}

TEST(RotateTest, RotatesGradientsOfNeighboursBack) {
  const at::Tensor frequencies = rotary_frequencies({.theta = 1e4}, 6, torch::kDouble);
  RotaryAngles angles = rotary_angles(frequencies, 1.0, 0, 4, torch::kDouble);
  angles.interleaved = true;
  const at::Tensor weights = torch::randn({1, 4, 2, 6}, torch::kDouble);
  const auto gradient_of = [&](const at::Tensor& values) {
    const at::Tensor x = values.clone().set_requires_grad(true);
    (rotate(x, angles) * weights).sum().backward();
    return x.grad();
  };
  const at::Tensor values = torch::randn({1, 4, 2, 6}, torch::kDouble);
  const at::Tensor own = gradient_of(values);
  const WithoutCpuKernels with_torch;
  EXPECT_LE(testing::max_difference(own, gradient_of(values)), 1e-15);
}

}  // namespace
}  // namespace lime
