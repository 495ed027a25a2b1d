// SPDX-License-Identifier: Apache-2.0
#include "result_rows.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "core/errors.h"
#include "text.h"

namespace lime::python {

namespace nb = nanobind;

nb::dict to_dict(const ResultRow& row) {
  nb::dict dict;
  for (const ResultRow::NamedCell& cell : row.cells()) {
    dict[to_str(cell.name)] = cell.value.visit([](const auto& value) -> nb::object {
      using Value = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, std::string>) {
        return to_str(value);
      } else if constexpr (std::is_arithmetic_v<Value>) {
        return nb::cast(value);
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
