// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include <exception>
#include <system_error>

#include "bindings.h"
#include "call.h"
#include "core/errors.h"
#include "core/version.h"
#include "store/hdf5/hdf5_file.h"
#include "text.h"

namespace {

namespace nb = nanobind;

void raise(PyObject* kind, const std::exception& error) {
  PyErr_SetObject(kind, lime::python::to_str(error.what()).ptr());
}

/// Raises Python's own kinds of exceptions with the texts of the library.
void translate(const std::exception_ptr& raised, void* /*unused*/) {
  try {
    std::rethrow_exception(raised);
  } catch (const lime::Interrupted& error) {
    raise(PyExc_KeyboardInterrupt, error);
  } catch (const lime::MissingFile& error) {
    raise(PyExc_FileNotFoundError, error);
  } catch (const lime::IoError& error) {
    raise(PyExc_OSError, error);
  } catch (const lime::NumericalError& error) {
    raise(PyExc_ArithmeticError, error);
  } catch (const lime::Error& error) {
    raise(PyExc_ValueError, error);
  } catch (const std::system_error& error) {
    raise(PyExc_OSError, error);
  }
}

}  // namespace

NB_MODULE(_lime_toolkit, module) {
  module.doc() = "The metrics of LIMe Toolkit on arrays; use lime_toolkit, which documents them.";
  nb::register_exception_translator(translate);
  lime::python::bind_calls(module);
  lime::python::bind_statistics(module);
  lime::python::bind_entropy(module);
  lime::python::bind_capture(module);
  lime::python::bind_capture_writer(module);
  lime::python::bind_files(module);
  lime::python::bind_geometry(module);
  lime::python::bind_collapse(module);
  lime::python::bind_audit(module);
  lime::python::bind_comparison(module);
  lime::python::bind_interventions(module);
  lime::python::bind_probes(module);
  lime::python::bind_router(module);
  lime::python::bind_tsne(module);
}
