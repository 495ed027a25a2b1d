// SPDX-License-Identifier: Apache-2.0
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <memory>
#include <utility>

#include "bench/kernels/blas.h"
#include "bench/kernels/comparison.h"
#include "model/kernels/linear.h"

namespace lime {
namespace {

/// out[tokens, out_features] = x[tokens, in_features] weight[out_features, in_features]^T.
Comparison compare_linear(std::int64_t tokens, std::int64_t in, std::int64_t out) {
  struct Job {
    at::Tensor x, weight, out;
  };
  const auto job = std::make_shared<Job>(
      Job{at::randn({1, tokens, in}), at::randn({out, in}), at::empty({1, tokens, out})});
  const auto ours = [job] {
    const at::NoGradGuard no_grad;
    lime::linear_out(job->out, job->x, job->weight, {});
  };
  const auto library = [=] {
    blas::multiply(false, true, static_cast<int>(tokens), static_cast<int>(out),
                   static_cast<int>(in), job->x.data_ptr<float>(), static_cast<int>(in),
                   job->weight.data_ptr<float>(), static_cast<int>(in), job->out.data_ptr<float>(),
                   static_cast<int>(out));
  };
  return {"linear layer",
          fmt::format("{} tokens, {} to {}", tokens, in, out),
          {"", ours},
          {{"sgemm", library}}};
}

/// The products of the backward pass of a linear layer: dW = dy^T x, dx = dy W.
std::vector<Comparison> compare_backward(std::int64_t tokens, std::int64_t in, std::int64_t out) {
  struct Job {
    at::Tensor x, weight, dy, dx, dw;
  };
  const auto job = std::make_shared<Job>(Job{at::randn({tokens, in}), at::randn({out, in}),
                                             at::randn({tokens, out}), at::empty({tokens, in}),
                                             at::empty({out, in})});
  const auto weight_gradient = [job] {
    const at::NoGradGuard no_grad;
    matrix_product_out(job->dw, job->dy.t(), job->x);
  };
  const auto input_gradient = [job] {
    const at::NoGradGuard no_grad;
    matrix_product_out(job->dx, job->dy, job->weight);
  };
  const auto n = static_cast<int>(tokens);
  const auto i = static_cast<int>(in);
  const auto o = static_cast<int>(out);
  const auto weight_sgemm = [=] {
    blas::multiply(true, false, o, i, n, job->dy.data_ptr<float>(), o, job->x.data_ptr<float>(), i,
                   job->dw.data_ptr<float>(), i);
  };
  const auto input_sgemm = [=] {
    blas::multiply(false, false, n, i, o, job->dy.data_ptr<float>(), o,
                   job->weight.data_ptr<float>(), i, job->dx.data_ptr<float>(), i);
  };
  const std::string shape = fmt::format("{} tokens, {} to {}", tokens, in, out);
  return {{"gradient of weights", shape, {"", weight_gradient}, {{"sgemm", weight_sgemm}}},
          {"gradient of inputs", shape, {"", input_gradient}, {{"sgemm", input_sgemm}}}};
}

/// What the static routers of LIMe compute: a small matrix times a wide one.
Comparison compare_wide(std::int64_t heads, std::int64_t inner, std::int64_t columns) {
  struct Job {
    at::Tensor weights, buffer, out;
  };
  const auto job = std::make_shared<Job>(
      Job{at::randn({heads, inner}), at::randn({inner, columns}), at::empty({heads, columns})});
  const auto ours = [job] {
    const at::NoGradGuard no_grad;
    wide_product_out(job->out, job->weights, job->buffer);
  };
  const auto library = [=] {
    const auto wide = static_cast<int>(columns);
    blas::multiply(false, false, static_cast<int>(heads), wide, static_cast<int>(inner),
                   job->weights.data_ptr<float>(), static_cast<int>(inner),
                   job->buffer.data_ptr<float>(), wide, job->out.data_ptr<float>(), wide);
  };
  return {"routed keys and values",
          fmt::format("{} x {} x {}", heads, inner, columns),
          {"", ours},
          {{"sgemm", library}}};
}

}  // namespace

std::vector<Comparison> compare_model_kernels() {
  std::vector<Comparison> all;
  for (const std::int64_t tokens : {1, 512, 2048}) {
    for (const auto& [in, out] : {std::pair{576, 1536}, {1536, 576}, {576, 576}, {576, 192}}) {
      all.push_back(compare_linear(tokens, in, out));
    }
  }
  all.push_back(compare_linear(1, 576, 49152));
  all.push_back(compare_linear(256, 576, 49152));
  for (const auto& [in, out] : {std::pair{576, 1536}, {1536, 576}, {576, 192}, {256, 256}}) {
    for (Comparison& comparison : compare_backward(1024, in, out)) {
      all.push_back(std::move(comparison));
    }
  }
  all.push_back(compare_wide(8, 64, 32768));
  return all;
}

}  // namespace lime
