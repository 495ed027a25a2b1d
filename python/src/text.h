// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"

namespace lime::python {

/// Converts a text of a file. Bytes that are not UTF-8 become U+FFFD.
nanobind::str to_str(std::string_view text);
nanobind::list to_strs(const std::vector<std::string>& texts);

/// Converts a name of a file. Bytes that are not UTF-8 become lone surrogates, as in Python's file
/// names (PEP 383), so that from_name() returns the same bytes.
nanobind::str to_name(std::string_view name);
/// @throws nanobind::python_error  for surrogates of other origin.
std::string from_name(const nanobind::str& name);

/// Converts a JSON value to dict, list, str, int, float, bool or None.
nanobind::object to_python(const Json& value);

}  // namespace lime::python
