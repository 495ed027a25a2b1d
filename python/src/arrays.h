// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/matrix.h"
#include "core/options.h"

namespace lime::python {

namespace nb = nanobind;

/// Read-only matrix of rows in the caller's memory, [num_rows, dim]. The Python layer converts the
/// number type and makes the last axis contiguous.
template <typename Scalar> using Rows = nb::ndarray<const Scalar, nb::ndim<2>, nb::device::cpu>;
using RowsF = Rows<float>;
using RowsD = Rows<double>;
/// Read-only contiguous vector.
template <typename Scalar>
using Column = nb::ndarray<const Scalar, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// @throws InvalidArgument  if the values of a row are not adjacent.
template <typename Scalar> void check_layout(const Rows<Scalar>& rows) {
  if (rows.size() > 0 && rows.shape(1) > 1 && rows.stride(1) != 1) {
    throw InvalidArgument("rows: the values of a row must be adjacent in memory");
  }
}

inline ConstMatrixRef matrix_ref(const RowsF& rows) {
  check_layout(rows);
  return Eigen::Map<const MatrixF, 0, Eigen::OuterStride<>>(
      rows.data(), static_cast<Eigen::Index>(rows.shape(0)),
      static_cast<Eigen::Index>(rows.shape(1)), Eigen::OuterStride<>(rows.stride(0)));
}

inline std::vector<ConstMatrixRef> matrix_refs(const std::vector<RowsF>& sequences) {
  std::vector<ConstMatrixRef> refs;
  refs.reserve(sequences.size());
  for (const RowsF& rows : sequences) refs.push_back(matrix_ref(rows));
  return refs;
}

template <typename Scalar> std::span<const Scalar> span_of(const Column<Scalar>& column) {
  return {column.data(), column.size()};
}

inline VectorD vector_of(const Column<double>& column) {
  return Eigen::Map<const VectorD>(column.data(), static_cast<Eigen::Index>(column.size()));
}

/// Moves a container into a NumPy array of the given shape.
template <typename Container>
nb::object to_numpy(Container&& values, const std::vector<std::size_t>& shape) {
  using Stored = std::decay_t<Container>;
  using Scalar = std::decay_t<decltype(*values.data())>;
  auto* const owned = new Stored(std::forward<Container>(values));
  const nb::capsule owner(owned, [](void* pointer) noexcept {
    delete static_cast<Stored*>(pointer);  // NOLINT(cppcoreguidelines-owning-memory)
  });
  return nb::cast(nb::ndarray<nb::numpy, Scalar>(owned->data(), shape.size(), shape.data(), owner));
}

template <typename Scalar> nb::object to_numpy(std::vector<Scalar> values) {
  const std::size_t size = values.size();
  return to_numpy(std::move(values), {size});
}

template <typename Scalar>
using RowMajor = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Moves a matrix into a NumPy array by rows, also if Eigen stores it by columns.
template <typename Matrix> nb::object matrix_to_numpy(Matrix&& matrix) {
  RowMajor<typename std::decay_t<Matrix>::Scalar> rows(std::forward<Matrix>(matrix));
  const std::vector<std::size_t> shape = {static_cast<std::size_t>(rows.rows()),
                                          static_cast<std::size_t>(rows.cols())};
  return to_numpy(std::move(rows), shape);
}

inline nb::object vector_to_numpy(VectorD vector) {
  const auto size = static_cast<std::size_t>(vector.size());
  return to_numpy(std::move(vector), {size});
}

/// Options by their names on the command line, as strings; several for a list.
using OptionTexts = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Sets the fields of a described options struct; those that are not named keep their defaults.
/// @throws InvalidArgument  if there is no such option, or a value is invalid.
template <DescribedOptions Options> void set_options(Options& options, const OptionTexts& texts) {
  for (const auto& [name, values] : texts) {
    bool is_known = false;
    for (const OptionField& field : option_fields(options)) {
      if (field.name != name) continue;
      field.assign(values);
      is_known = true;
    }
    if (!is_known) throw InvalidArgument("{}: is not an option of this metric", name);
  }
}

}  // namespace lime::python
