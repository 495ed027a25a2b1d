// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include "store/results/result_row.h"

namespace lime::python {

/// Converts a row to a dict of str, int, float and bool, and lists of numbers, nested by axis.
nanobind::dict to_dict(const ResultRow& row);

/// Converts a dict of str, int, float and bool to a row; None is an empty cell.
/// @throws InvalidArgument  for other values.
ResultRow from_dict(const nanobind::dict& dict);

}  // namespace lime::python
