// SPDX-License-Identifier: Apache-2.0
#include "store/results/matrix_rows.h"

#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "core/errors.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

/// Elements of one array, row by row, while they are collected.
struct Elements {
  const MatrixKind* kind = nullptr;
  std::vector<std::size_t> rows;  ///< their places
};

const NumberArray* labelled_array(const ResultCell& cell) {
  const NumberArray* const array = cell.array();
  return array != nullptr && !array->axes.empty() ? array : nullptr;
}

bool has_matrix(const ResultRow& row) {
  return std::ranges::any_of(row.cells(), [](const ResultRow::NamedCell& cell) {
    return labelled_array(cell.value) != nullptr;
  });
}

/// Returns the kind of a row with one element; null for other rows.
const MatrixKind* kind_of_element(const ResultRow& row, std::string_view metric) {
  const MatrixKind* const kind = find_matrix_kind(metric, row.text(col::kKind));
  return kind != nullptr && row.cell(kind->value).is_number() ? kind : nullptr;
}

ResultRow key_of_element(ResultRow row, const MatrixKind& kind) {
  row.erase(kind.value);
  for (const IntegerColumn& axis : kind.axes) row.erase(axis);
  return row;
}

/// Returns the indices of an element; nothing if one is none.
std::optional<std::vector<std::int64_t>> indices_of(const ResultRow& row, const MatrixKind& kind) {
  constexpr std::int64_t kMaxIndex = 16'777'215;
  std::vector<std::int64_t> indices;
  for (const IntegerColumn& axis : kind.axes) {
    const std::int64_t index = row.cell(axis).integer().value_or(-1);
    if (index < 0 || index > kMaxIndex) return std::nullopt;
    indices.push_back(index);
  }
  return indices;
}

/// Returns the shape of the smallest array with all elements; nothing if they are too few for it.
std::optional<std::vector<std::int64_t>> shape_of(const std::vector<ResultRow>& rows,
                                                  const Elements& elements) {
  // A triangle of layers or tokens fills half of its array.
  constexpr double kMaxSizePerElement = 512.0;
  std::vector<std::int64_t> shape(elements.kind->axes.size(), 0);
  for (const std::size_t row : elements.rows) {
    const auto indices = indices_of(rows[row], *elements.kind);
    if (!indices) return std::nullopt;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      shape[d] = std::max(shape[d], (*indices)[d] + 1);
    }
  }
  double size = 1.0;
  for (const std::int64_t length : shape) size *= static_cast<double>(length);
  const bool is_filled = size <= kMaxSizePerElement * static_cast<double>(elements.rows.size());
  return is_filled ? std::optional(shape) : std::nullopt;
}

NumberArray empty_array(const MatrixKind& kind, std::vector<std::int64_t> shape) {
  NumberArray array{std::move(shape), {}};
  std::size_t size = 1;
  for (const std::int64_t length : array.shape) size *= static_cast<std::size_t>(length);
  array.values.assign(size, std::numeric_limits<double>::quiet_NaN());
  for (const IntegerColumn& axis : kind.axes) array.axes.emplace_back(axis.name);
  return array;
}

/// Returns the array of the elements; nothing if they form none.
std::optional<NumberArray> joined(const std::vector<ResultRow>& rows, const Elements& elements) {
  const auto shape = shape_of(rows, elements);
  if (!shape) return std::nullopt;
  NumberArray array = empty_array(*elements.kind, *shape);
  for (const std::size_t row : elements.rows) {
    std::size_t at = 0;
    const auto indices = indices_of(rows[row], *elements.kind).value();
    for (std::size_t d = 0; d < indices.size(); ++d) {
      at = at * static_cast<std::size_t>(array.shape[d]) + static_cast<std::size_t>(indices[d]);
    }
    if (!std::isnan(array.values[at])) return std::nullopt;
    array.values[at] = rows[row].number(elements.kind->value);
  }
  return array;
}

/// Returns `element` with the array in the place of its indices and value.
ResultRow with_array(const ResultRow& element, const MatrixKind& kind, NumberArray array) {
  ResultRow row;
  for (const auto& [name, value] : element.cells()) {
    const bool is_index = std::ranges::find(kind.axes, Column{name}) != kind.axes.end();
    if (name == kind.value.name) {
      row.set_array(kind.value, std::move(array));
    } else if (!is_index) {
      row.set_cell(name, value);
    }
  }
  return row;
}

/// Calls `with` with a row for each element of the array in `row`.
void for_each_element(const ResultRow& row, const std::function<void(const ResultRow&)>& with) {
  const auto place = std::ranges::find_if(row.cells(), [](const ResultRow::NamedCell& cell) {
    return labelled_array(cell.value) != nullptr;
  });
  const NumberArray& array = *place->value.array();
  ResultRow line;
  for (auto cell = row.cells().begin(); cell != row.cells().end(); ++cell) {
    if (cell == place) {
      for (const std::string& axis : array.axes) line.set_cell(axis, 0);
    }
    line.set_cell(cell->name, cell == place ? ResultCell() : cell->value);
  }
  std::vector<std::int64_t> indices(array.axes.size(), 0);
  for (const double value : array.values) {
    if (!std::isnan(value)) {
      for (std::size_t d = 0; d < indices.size(); ++d) line.set_cell(array.axes[d], indices[d]);
      line.set_cell(place->name, value);
      with(line);
    }
    for (std::size_t d = indices.size(); d-- > 0 && ++indices[d] == array.shape[d];) indices[d] = 0;
  }
}

}  // namespace

const std::vector<MatrixKind>& matrix_kinds() {
  using namespace col;
  static const std::vector<MatrixKind> kinds = {
      {"router", "mean_map", {kSourceLayer}, kWeight},
      {"router", "head_map", {kHead, kSourceLayer}, kWeight},
      {"router", "weight", {kHead, kSourceLayer, kSourceHead}, kWeight},
      {"attention", "weight", {kQuery, kKey}, kWeight},
      {"attention", "routed", {kSourceLayer, kKey}, kShare},
      {"experts", "load", {kExpert}, kShare},
      {"experts", "group", {kExpert}, kShare},
      {"experts", "coactivation", {kExpert, kOtherExpert}, kShare},
      {"streams", "read", {kStream}, kWeight},
      {"streams", "written", {kStream}, kWeight},
      {"streams", "mixing", {kStream, kSourceStream}, kWeight}};
  return kinds;
}

const MatrixKind* find_matrix_kind(std::string_view metric, std::string_view kind) {
  const auto found = std::ranges::find_if(matrix_kinds(), [&](const MatrixKind& matrix_kind) {
    return matrix_kind.metric == metric && matrix_kind.kind == kind;
  });
  return found == matrix_kinds().end() ? nullptr : &*found;
}

ResultRow matrix_row(std::string_view metric, std::string_view kind, const ResultRow& key,
                     std::vector<std::int64_t> shape, std::vector<double> values) {
  const MatrixKind& declared = *find_matrix_kind(metric, kind);
  NumberArray array = empty_array(declared, std::move(shape));
  array.values = std::move(values);
  ResultRow row = {{col::kKind, kind}};
  return row.add(key).set_array(declared.value, std::move(array));
}

const NumberArray& array_in(const ResultRow& row, const NumberColumn& column) {
  const NumberArray* const array = labelled_array(row.cell(column));
  if (array != nullptr) return *array;
  throw FormatError("results: '{}' must be an array over its axes, got {}", column.name,
                    json_text(row.cell(column)));
}

MatrixD matrix_of(const NumberArray& array) {
  const Eigen::Index rows = array.shape.front();
  const auto size = static_cast<Eigen::Index>(array.values.size());
  return Eigen::Map<const MatrixD>(array.values.data(), rows, rows == 0 ? 0 : size / rows);
}

void for_each_line(std::span<const ResultRow> rows,
                   const std::function<void(const ResultRow&)>& with) {
  for (const ResultRow& row : rows) {
    if (has_matrix(row)) {
      for_each_element(row, with);
    } else {
      with(row);
    }
  }
}

std::vector<ResultRow> with_matrices(std::vector<ResultRow> rows, std::string_view metric) {
  std::unordered_map<ResultRow, Elements, ResultRowHash> arrays;
  std::vector<const Elements*> array_of_row(rows.size(), nullptr);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const MatrixKind* const kind = kind_of_element(rows[i], metric);
    if (kind == nullptr) continue;
    Elements& elements = arrays[key_of_element(rows[i], *kind)];
    elements.kind = kind;
    elements.rows.push_back(i);
    array_of_row[i] = &elements;
  }
  if (arrays.empty()) return rows;
  std::unordered_map<const Elements*, std::optional<NumberArray>> joined_arrays;
  for (const auto& [key, elements] : arrays) {
    joined_arrays.emplace(&elements, joined(rows, elements));
  }
  std::vector<ResultRow> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Elements* const elements = array_of_row[i];
    if (elements == nullptr || !joined_arrays.at(elements)) {
      all.push_back(std::move(rows[i]));
    } else if (elements->rows.front() == i) {
      all.push_back(with_array(rows[i], *elements->kind, std::move(*joined_arrays.at(elements))));
    }
  }
  return all;
}

}  // namespace lime
