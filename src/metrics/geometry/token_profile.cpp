// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/token_profile.h"

#include <algorithm>

#include "core/errors.h"
#include "metrics/geometry/lower_median.h"

namespace lime {

TokenProfile token_profile(const ConstMatrixRef& rows) {
  if (rows.rows() == 0) throw InvalidArgument("token_profile: needs at least 1 token, got none");
  throw_if(!rows.allFinite(), "token_profile: representations must be finite");
  const MatrixD x = rows.cast<double>();
  TokenProfile profile;
  profile.norm = x.rowwise().norm();
  const double middle = lower_median(profile.norm);
  profile.relative_norm = VectorD::Zero(x.rows());
  if (middle > 0.0) profile.relative_norm = profile.norm / middle;
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
