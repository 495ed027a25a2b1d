// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "core/matrix.h"
#include "core/program/program.h"
#include "metrics/entropy/matrix_entropy.h"
#include "metrics/router/router_maps.h"
#include "metrics/router/routers.h"

// Orthonormal tokens have entropy log n. A matrix allocated by the library is freed here, so this
// also checks that both sides use the same alignment.
int main() {
  const lime::MatrixF tokens = lime::MatrixF::Identity(4, 16);
  const double entropy = lime::matrix_renyi_entropy(tokens, 1.0);
  const lime::MatrixD shares =
      lime::router_layer_values(lime::Routers::identity(3, 2), lime::RouterQuantity::kShare);
  std::printf("%s: entropy %.12f, share %.1f\n", lime::tool_version().c_str(), entropy,
              shares(2, 2));
  return std::abs(entropy - std::log(4.0)) < 1e-12 && shares(2, 2) == 1.0 ? 0 : 1;
}
