# SPDX-License-Identifier: Apache-2.0
# What `pip install .` builds: core, store, metrics, the readers of weights and the module over them, in
# a shared library, and the helper program of store. A wheel (LIME_BUNDLE) also has lime-metrics.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
include(PrecompiledHeaders)
include(LimeTargets)
add_subdirectory(src/core)
add_subdirectory(src/linalg)
add_subdirectory(src/store)
add_subdirectory(src/metrics)
if(LIME_BUNDLE)
  add_subdirectory(src/checkpoint)
  add_subdirectory(src/analysis)
  add_subdirectory(app/lime-metrics)
endif()
add_subdirectory(python)
