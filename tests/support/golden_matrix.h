// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/matrix.h"
#include "store/hdf5/hdf5_file.h"

namespace lime::testing {

/// Reads a dataset in double precision, [1, columns] for one dimension.
inline MatrixD golden_matrix(const Hdf5File& file, const std::string& dataset) {
  const auto values = file.read<double>(dataset);
  const std::int64_t columns = file.shape(dataset).back();
  return Eigen::Map<const MatrixD>(values.data(), std::ssize(values) / columns, columns);
}

}  // namespace lime::testing
