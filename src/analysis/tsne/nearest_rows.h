// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "store/capture_reader.h"

namespace lime {

/// A row of a capture and its distance from another.
struct NearRow {
  std::int64_t row = 0;
  double distance = 0.0;  ///< Euclidean, of rows of length 1: in [0, 2]
};

/// Returns the rows of `candidates` nearest to `row` in the representation space, the nearest
/// first.
/// @param candidates  rows of the capture, ascending; `row` itself is omitted.
/// @throws InvalidArgument  if a row is out of range. @throws Interrupted
/// Reads the candidates once, in blocks. Time candidates * dim.
std::vector<NearRow> nearest_rows(const CaptureReader& capture, const std::string& site, int layer,
                                  std::int64_t row, std::span<const std::int64_t> candidates,
                                  std::size_t count, const std::stop_token& stop = {});

}  // namespace lime
