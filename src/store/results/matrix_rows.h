// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/matrix.h"
#include "store/results/columns.h"

// Rows that contain a matrix: a key, and an array over columns of indices (NumberArray::axes). In
// tables each element is a line.

namespace lime {

/// A kind of rows whose `value` is an array over `axes`.
struct MatrixKind {
  std::string_view metric;
  std::string_view kind;
  std::vector<IntegerColumn> axes;
  NumberColumn value;
};

/// All of them. Up to schema 2 these kinds had a row per element.
const std::vector<MatrixKind>& matrix_kinds();

/// Returns the kind, or null if its rows are single values.
const MatrixKind* find_matrix_kind(std::string_view metric, std::string_view kind);

/// Returns a row of a matrix kind: its kind, the cells of `key`, and the array.
/// @param shape  as many sizes as axes. @param values  the last dimension varies fastest; NaN: none
ResultRow matrix_row(std::string_view metric, std::string_view kind, const ResultRow& key,
                     std::vector<std::int64_t> shape, std::vector<double> values);

/// Returns the array in a cell. @throws FormatError  if it has none with axes.
const NumberArray& array_in(const ResultRow& row, const NumberColumn& column);

/// Returns an array as a matrix: the first dimension by the product of the others.
MatrixD matrix_of(const NumberArray& array);

/// Calls `with` with every line of a table: `rows`, with an array over axes as a row per element.
void for_each_line(std::span<const ResultRow> rows,
                   const std::function<void(const ResultRow&)>& with);

/// Joins the rows of matrix kinds that have one element each, as schemas 1 and 2 stored them, to
/// rows with arrays, each in the place of its first element. Rows that form no array, because an
/// index or a value is none, two are the same, or they would fill only a small part of it, are
/// kept.
std::vector<ResultRow> with_matrices(std::vector<ResultRow> rows, std::string_view metric);

}  // namespace lime
