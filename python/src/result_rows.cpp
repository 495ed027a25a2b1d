// SPDX-License-Identifier: Apache-2.0
#include "result_rows.h"

#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "core/errors.h"
#include "text.h"

namespace lime::python {

namespace nb = nanobind;
namespace {

/// Returns the numbers of an array from `first` on, in a list per axis from `axis` on.
nb::list to_list(const NumberArray& array, std::size_t axis, std::size_t first, std::size_t count) {
  nb::list list;
  const auto size = static_cast<std::size_t>(array.shape[axis]);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t place = first + i * (count / size);
    if (axis + 1 < array.shape.size()) {
      list.append(to_list(array, axis + 1, place, count / size));
    } else {
      const double value = array.values[place];
      list.append(array.is_whole ? nb::cast(static_cast<std::int64_t>(value)) : nb::cast(value));
    }
  }
  return list;
}

}  // namespace

nb::dict to_dict(const ResultRow& row) {
  nb::dict dict;
  for (const ResultRow::NamedCell& cell : row.cells()) {
    dict[to_str(cell.name)] = cell.value.visit([](const auto& value) -> nb::object {
      using Value = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, std::string>) {
        return to_str(value);
      } else if constexpr (std::is_arithmetic_v<Value>) {
        return nb::cast(value);
      } else if constexpr (std::is_same_v<Value, std::shared_ptr<const NumberArray>>) {
        return to_list(*value, 0, 0, value->values.size());
      } else {
        return nb::none();
      }
    });
  }
  return dict;
}

ResultRow from_dict(const nb::dict& dict) {
  ResultRow row;
  for (const auto& [key, value] : dict) {
    const std::string name = nb::cast<std::string>(key);
    if (value.is_none()) {
      row.set_cell(name, nullptr);
    } else if (PyBool_Check(value.ptr())) {
      row.set_cell(name, nb::cast<bool>(value));
    } else if (nb::isinstance<nb::int_>(value)) {
      row.set_cell(name, nb::cast<std::int64_t>(value));
    } else if (nb::isinstance<nb::float_>(value)) {
      row.set_cell(name, nb::cast<double>(value));
    } else if (nb::isinstance<nb::str>(value)) {
      row.set_cell(name, nb::cast<std::string>(value));
    } else {
      throw InvalidArgument("rows: '{}' must be a text or a number", name);
    }
  }
  return row;
}

}  // namespace lime::python
