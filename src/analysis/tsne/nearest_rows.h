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

/// A row of a capture, and how far it is from another.
struct NearRow {
  std::int64_t row = 0;
  double distance = 0.0;  ///< Euclidean, of rows of length 1: in [0, 2]
};

/// The rows of `candidates` that are nearest to `row` in the representations themselves, not in a
/// drawing of them; nearest first, the lower row first where distances are equal.
///
/// @param candidates  rows of the capture, ascending; `row` among them is left out.
/// @param count       at most so many, >= 1.
/// @throws InvalidArgument  if a row is out of range.
/// @throws IoError, FormatError  as CaptureReader. @throws Interrupted
/// Reads the candidates once, in blocks. Time candidates * dim.
std::vector<NearRow> nearest_rows(const CaptureReader& capture, const std::string& site, int layer,
                                  std::int64_t row, std::span<const std::int64_t> candidates,
                                  std::size_t count, const std::stop_token& stop = {});

}  // namespace lime
