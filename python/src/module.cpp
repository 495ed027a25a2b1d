// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <exception>

#include "bindings.h"
#include "core/errors.h"
#include "core/version.h"

namespace {

namespace nb = nanobind;

/// Raises Python's own kinds of exceptions with the texts of the library.
void translate(const std::exception_ptr& raised, void* /*unused*/) {
  try {
    std::rethrow_exception(raised);
  } catch (const lime::Interrupted& error) {
    PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
  } catch (const lime::IoError& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  } catch (const lime::NumericalError& error) {
    PyErr_SetString(PyExc_ArithmeticError, error.what());
  } catch (const lime::Error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  }
}

}  // namespace

NB_MODULE(_lime_toolkit, module) {
  module.doc() = "The metrics of LIMe Toolkit on arrays; use lime_toolkit, which documents them.";
  nb::register_exception_translator(translate);
  lime::python::bind_statistics(module);
  lime::python::bind_entropy(module);
  lime::python::bind_geometry(module);
  lime::python::bind_comparison(module);
  lime::python::bind_probes(module);
  lime::python::bind_router(module);
  lime::python::bind_tsne(module);
}
