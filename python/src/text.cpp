// SPDX-License-Identifier: Apache-2.0
#include "text.h"

namespace lime::python {

namespace nb = nanobind;

namespace {

nb::str decode(std::string_view text, const char* errors) {
  PyObject* const made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), errors);
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

}  // namespace

nb::str to_str(std::string_view text) { return decode(text, "replace"); }

nb::str to_name(std::string_view name) { return decode(name, "surrogateescape"); }

nb::list to_strs(const std::vector<std::string>& texts) {
  nb::list list;
  for (const std::string& text : texts) list.append(to_str(text));
  return list;
}

std::string from_name(const nb::str& name) {
  PyObject* const made = PyUnicode_AsEncodedString(name.ptr(), "utf-8", "surrogateescape");
  if (made == nullptr) throw nb::python_error();
  const auto bytes = nb::steal<nb::bytes>(made);
  return {bytes.c_str(), bytes.size()};
}

nb::object to_python(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object: {
      nb::dict made;
      for (const auto& [name, member] : value.items()) made[to_str(name)] = to_python(member);
      return made;
    }
    case Json::value_t::array: {
      nb::list made;
      for (const Json& member : value) made.append(to_python(member));
      return made;
    }
    case Json::value_t::string: return to_str(value.get_ref<const std::string&>());
    case Json::value_t::boolean: return nb::bool_(value.get<bool>());
    case Json::value_t::number_integer: return nb::int_(value.get<std::int64_t>());
    case Json::value_t::number_unsigned: return nb::int_(value.get<std::uint64_t>());
    case Json::value_t::number_float: return nb::float_(value.get<double>());
    default: return nb::none();
  }
}

}  // namespace lime::python
