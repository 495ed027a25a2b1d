// SPDX-License-Identifier: Apache-2.0
// The float32 kernels compared with float64 on the same inputs. Tolerances are on the root mean
// square over many random results, which varies by a few percent between inputs. They are at most
// 1.3 times the error of PyTorch 2.15's operation (bench/parity/compare_precision.py compares whole
// models).
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "model/kernels/activation.h"
#include "model/kernels/attention.h"
#include "model/kernels/linear.h"
#include "model/kernels/norm.h"
#include "model/kernels/rotary.h"

namespace lime {
namespace {

/// Returns |found - expected| / |expected|, both flattened.
double relative_rms(const at::Tensor& found, const at::Tensor& expected) {
  return ((found.to(at::kDouble) - expected).norm() / expected.norm()).item<double>();
}

class KernelAccuracyTest : public ::testing::Test {
 protected:
  KernelAccuracyTest() { torch::manual_seed(3); }
  const at::NoGradGuard no_grad_;
};

TEST_F(KernelAccuracyTest, Linear) {
  for (const std::int64_t inner : {576, 1536, 2000}) {
    const at::Tensor x = torch::randn({160, inner});
    const at::Tensor weight = torch::randn({576, inner});
    const at::Tensor expected = torch::mm(x.to(at::kDouble), weight.to(at::kDouble).t());
    // Chains of 192 terms: 2.6e-8 sqrt(192 / 2) = 2.5e-7, as with MKL; one chain of 576: 4.3e-7.
    EXPECT_LT(relative_rms(apply_linear(x, weight), expected), 2.9e-7) << inner;
    const at::Tensor first = apply_linear(x.narrow(0, 0, 1), weight);
    EXPECT_LT(relative_rms(first, expected.narrow(0, 0, 1)), 2.9e-7) << inner << ", one row";
    // The products of gradients have chains of 256.
    const at::Tensor out = torch::empty({160, 576});
    matrix_product_out(out, x, weight.t());
    EXPECT_LT(relative_rms(out, expected), 3.2e-7) << inner;
  }
}

TEST_F(KernelAccuracyTest, Attention) {
  constexpr std::int64_t kTokens = 1500;
  const at::Tensor q = torch::randn({1, kTokens, 2, 64});
  const at::Tensor k = torch::randn({1, kTokens, 1, 64});
  const at::Tensor v = torch::randn({1, kTokens, 1, 64}) + 1.0;
  const AttentionInput input{.q = q, .k = k, .v = v};
  const AttentionInput wide{.q = q.to(at::kDouble), .k = k.to(at::kDouble), .v = v.to(at::kDouble)};
  const at::Tensor expected = attention_with_pattern(wide, {}, {});
  // The sums over keys are long for late queries; values with a mean make partial sums grow.
  const auto late = [](const at::Tensor& x) { return x.narrow(1, 1000, 500); };
  EXPECT_LT(relative_rms(late(attention(input)), late(expected)), 2.0e-7);
}

TEST_F(KernelAccuracyTest, RmsNorm) {
  const at::Tensor x = torch::randn({1, 500, 576});
  const at::Tensor weight = torch::ones({576});
  const at::Tensor wide = x.to(at::kDouble);
  const at::Tensor expected = wide * (wide.square().mean(-1, true) + 1e-5).rsqrt();
  const at::Tensor found = torch::empty_like(x);
  rms_norm_out(found, x, weight, 1e-5);
  // Three roundings of up to 2^-24: of the scale, the product with it, and the gain.
  EXPECT_LT(relative_rms(found, expected), 5e-8);
  // The error of the scale is common to a row: two roundings, of the sum and of the result.
  const at::Tensor common = (found.to(at::kDouble) * expected).sum(-1) / expected.square().sum(-1);
  EXPECT_LT((common - 1.0).square().mean().sqrt().item<double>(), 4e-8);
}

TEST_F(KernelAccuracyTest, Activations) {
  const at::Tensor gate = torch::randn({200, 256}) * 3.0;
  const at::Tensor up = torch::randn({200, 256});
  const at::Tensor wide = gate.to(at::kDouble);
  const auto check = [&](Activation activation, const at::Tensor& activated, double tolerance) {
    const at::Tensor out = torch::empty_like(gate);
    activate_out(out, gate, up, activation);
    EXPECT_LT(relative_rms(out, activated * up.to(at::kDouble)), tolerance)
        << enum_name(activation);
  };
  // Four roundings with exp() of 4.5e-8; GELU's erf and tanh are LibTorch's own.
  check(Activation::kSilu, torch::silu(wide), 6e-8);
  check(Activation::kGelu, torch::gelu(wide), 6e-8);
  check(Activation::kGeluTanh, torch::gelu(wide, "tanh"), 6e-8);
}

TEST_F(KernelAccuracyTest, Rotation) {
  const at::Tensor x = torch::randn({1, 300, 4, 64});
  const at::Tensor frequencies = rotary_frequencies({.theta = 1e5}, 64, torch::kFloat);
  const RotaryAngles angles = rotary_angles(frequencies, 1.0, 700, 300, torch::kFloat);
  const RotaryAngles wide =
      rotary_angles(frequencies.to(at::kDouble), 1.0, 700, 300, torch::kDouble);
  const at::Tensor found = x.clone();
  rotate_in_place(found, angles);
  // Three roundings and those of cosine and sine.
  const RotaryAngles same = {angles.cos.to(at::kDouble), angles.sin.to(at::kDouble)};
  EXPECT_LT(relative_rms(found, rotate(x.to(at::kDouble), same)), 5e-8);
  // The angles' own rounding is that of float32 products: up to 2^-24 of 1,000 radians.
  EXPECT_LT(relative_rms(found, rotate(x.to(at::kDouble), wide)), 5e-6);
}

}  // namespace
}  // namespace lime
