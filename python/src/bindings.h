// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace lime::python {

/// These functions each add the functions of one folder of src/metrics, the rows of a collapse, the
/// readers or the writer of src/store, the readers of JSON and weights, or what edits and audits
/// need, to the module. The Python files of lime_toolkit have the public signatures, defaults and
/// docstrings.
void bind_audit(nanobind::module_& module);
void bind_capture(nanobind::module_& module);
void bind_capture_writer(nanobind::module_& module);
void bind_collapse(nanobind::module_& module);
void bind_comparison(nanobind::module_& module);
void bind_entropy(nanobind::module_& module);
void bind_files(nanobind::module_& module);
void bind_geometry(nanobind::module_& module);
void bind_interventions(nanobind::module_& module);
void bind_probes(nanobind::module_& module);
void bind_router(nanobind::module_& module);
void bind_statistics(nanobind::module_& module);
void bind_tsne(nanobind::module_& module);

}  // namespace lime::python
