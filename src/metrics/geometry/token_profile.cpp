// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/token_profile.h"

#include <algorithm>
#include <vector>

#include "core/errors.h"

namespace lime {

TokenProfile token_profile(const ConstMatrixRef& rows) {
  if (rows.rows() == 0) throw InvalidArgument("token_profile: needs at least 1 token, got none");
  if (!rows.allFinite()) {
    throw InvalidArgument("token_profile: representations must be finite");
  }
  const MatrixD x = rows.cast<double>();
  TokenProfile profile;
  profile.norm = x.rowwise().norm();
  std::vector<double> sorted(profile.norm.begin(), profile.norm.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  profile.relative_norm =
      *middle > 0.0 ? VectorD(profile.norm / *middle) : VectorD(VectorD::Zero(x.rows()));
  profile.next_cosine = VectorD::Zero(x.rows() - 1);
  for (Eigen::Index t = 0; t + 1 < x.rows(); ++t) {
    const double lengths = profile.norm(t) * profile.norm(t + 1);
    if (lengths > 0.0) {
      profile.next_cosine(t) = std::clamp(x.row(t).dot(x.row(t + 1)) / lengths, -1.0, 1.0);
    }
  }
  return profile;
}

}  // namespace lime
