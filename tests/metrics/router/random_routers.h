// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/matrix.h"
#include "core/random.h"
#include "metrics/router/routers.h"
#include "metrics/router/value_buffer.h"

namespace lime::testing {

/// Returns routers of normal weights; layer 0 keeps the identity.
inline Routers random_routers(std::int64_t layers, std::int64_t heads, std::uint64_t seed = 17) {
  Random random(seed);
  Routers routers = Routers::identity(layers, heads);
  for (std::size_t layer = 1; layer < routers.weights.size(); ++layer) {
    MatrixD& router = routers.weights[layer];
    router = router.unaryExpr([&](double) { return random.normal(); });
  }
  return routers;
}

/// Returns routers of normal weights in all layers.
inline Routers fully_random_routers(std::int64_t layers, std::int64_t heads,
                                    std::uint64_t seed = 17) {
  Random random(seed);
  Routers routers = Routers::identity(layers, heads);
  for (MatrixD& router : routers.weights) {
    router = router.unaryExpr([&](double) { return random.normal(); });
  }
  return routers;
}

/// Returns normal values of all layers, [num_tokens, heads * head_dim] each, with different means
/// and sizes.
inline std::vector<MatrixF> random_values(std::int64_t layers, std::int64_t num_tokens,
                                          std::int64_t width, std::uint64_t seed = 5) {
  Random random(seed);
  std::vector<MatrixF> values;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const double mean = random.normal();
    const double size = 0.5 + random.uniform();
    values.push_back(MatrixF::NullaryExpr(
        num_tokens, width, [&] { return static_cast<float>(mean + size * random.normal()); }));
  }
  return values;
}

inline ValueBuffer buffer_of(const std::vector<MatrixF>& values, std::int64_t heads) {
  ValueBuffer buffer(static_cast<std::int64_t>(values.size()), heads, values[0].cols() / heads);
  buffer.resize(values[0].rows());
  for (std::size_t layer = 0; layer < values.size(); ++layer) {
    buffer.set_rows(static_cast<std::int64_t>(layer), 0, values[layer]);
  }
  return buffer;
}

/// Naive oracle: token by token and head by head, [num_tokens, heads * head_dim].
inline MatrixD route_directly(const std::vector<MatrixF>& values, const MatrixD& router) {
  const Eigen::Index heads = router.rows();
  const Eigen::Index head_dim = values[0].cols() / heads;
  MatrixD routed = MatrixD::Zero(values[0].rows(), values[0].cols());
  for (Eigen::Index token = 0; token < routed.rows(); ++token) {
    for (Eigen::Index target = 0; target < heads; ++target) {
      for (Eigen::Index column = 0; column < router.cols(); ++column) {
        const MatrixF& source = values[static_cast<std::size_t>(column / heads)];
        routed.row(token).segment(target * head_dim, head_dim) +=
            router(target, column) *
            source.row(token).segment(column % heads * head_dim, head_dim).cast<double>();
      }
    }
  }
  return routed;
}

}  // namespace lime::testing
