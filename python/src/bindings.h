// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace lime::python {

/// Each adds the functions of one folder of src/metrics to the module. They are thin:
/// lime_toolkit's Python files have the signatures, defaults and docstrings that users see.
void bind_comparison(nanobind::module_& module);
void bind_entropy(nanobind::module_& module);
void bind_geometry(nanobind::module_& module);
void bind_probes(nanobind::module_& module);
void bind_router(nanobind::module_& module);
void bind_statistics(nanobind::module_& module);
void bind_tsne(nanobind::module_& module);

}  // namespace lime::python
