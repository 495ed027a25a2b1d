# SPDX-License-Identifier: Apache-2.0
# Headers that most files include, compiled once per kind of target: a third of the time of a whole
# build. Without it a file that forgets an include is an error, so the dev preset leaves it off;
# LibTorch's headers are precompiled in any case.
option(LIME_PRECOMPILE "Precompile the headers that most files include" OFF)

set(LIME_STANDARD_HEADERS
  <algorithm> <array> <atomic> <chrono> <cmath> <cstddef> <cstdint> <cstring> <filesystem> <fstream>
  <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream>
  <stop_token> <string> <string_view> <system_error> <thread> <unordered_map> <utility> <variant>
  <vector> <Eigen/Core> <fmt/format.h> <nlohmann/json.hpp>)
set(LIME_TEST_HEADERS <gmock/gmock.h> <gtest/gtest.h>)
# Not torch/torch.h, whose modules nobody uses: it takes three times the time and memory.
set(LIME_TORCH_HEADERS <ATen/ATen.h> <ATen/Dispatch.h> <ATen/Parallel.h> <c10/core/GradMode.h>)
set(LIME_TORCH_TEST_HEADERS ${LIME_TORCH_HEADERS} <torch/types.h> <torch/utils.h>)
if(NOT LIME_PRECOMPILE)
  set(LIME_STANDARD_HEADERS)
  set(LIME_TEST_HEADERS)
endif()

# Code that takes no time in a program but much in the compiler. The level must be part of a
# precompiled header, so it belongs to the kind of target.
set(LIME_QUICK_COMPILE $<$<CONFIG:Release>:-O1>)

# Lets ccache work with precompiled headers, as its manual says.
function(lime_cache_precompiled target)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS OR NOT CMAKE_CXX_COMPILER_LAUNCHER STREQUAL LIME_CCACHE)
    return()
  endif()
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${LIME_CCACHE}")
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# lime_prepare_headers(KIND LIBRARIES ... HEADERS ... [OPTIONS ...])
# Declares the target lime_precompiled_KIND that precompiles HEADERS with the flags of LIBRARIES.
function(lime_prepare_headers kind)
  cmake_parse_arguments(ARG "" "" "LIBRARIES;HEADERS;OPTIONS" ${ARGN})
  set(target lime_precompiled_${kind})
  set(source ${PROJECT_BINARY_DIR}/generated/${target}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Only here to compile the headers before it.\n")
  add_library(${target} OBJECT ${source})
  target_link_libraries(${target} PRIVATE lime_build_flags fmt::fmt Eigen3::Eigen
    nlohmann_json::nlohmann_json ${ARG_LIBRARIES})
  target_compile_options(${target} PRIVATE ${ARG_OPTIONS} ${LIME_PRECOMPILED_OPTIONS})
  target_precompile_headers(${target} PRIVATE ${ARG_HEADERS})
  lime_cache_precompiled(${target})
endfunction()

# From a precompiled header, GCC 12 takes the AVX-512 intrinsics for uninitialised (GCC bug 105593),
# and std::string's operator+ for an overflow (bug 105651, as in Warnings.cmake).
set(LIME_PRECOMPILED_OPTIONS
  $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized -Wno-maybe-uninitialized>)
if(LIME_PRECOMPILE)
  list(APPEND LIME_PRECOMPILED_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
endif()

lime_prepare_headers(torch LIBRARIES lime_torch
  HEADERS ${LIME_STANDARD_HEADERS} ${LIME_TORCH_HEADERS})
if(LIME_BUILD_TESTS)
  lime_prepare_headers(torch_test LIBRARIES lime_torch GTest::gmock OPTIONS ${LIME_QUICK_COMPILE}
    HEADERS ${LIME_STANDARD_HEADERS} ${LIME_TORCH_TEST_HEADERS} ${LIME_TEST_HEADERS})
endif()
if(LIME_PRECOMPILE)
  lime_prepare_headers(library HEADERS ${LIME_STANDARD_HEADERS})
  # Programs and the window share what their tests are compiled with: two headers less. What the
  # target of GoogleTest defines is defined for all then, as it must be.
  set(quick_libraries)
  set(quick_headers ${LIME_STANDARD_HEADERS})
  if(LIME_BUILD_TESTS)
    set(quick_libraries GTest::gmock)
    list(APPEND quick_headers ${LIME_TEST_HEADERS})
    target_compile_options(lime_build_flags INTERFACE
      $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
  endif()
  lime_prepare_headers(quick LIBRARIES ${quick_libraries} OPTIONS ${LIME_QUICK_COMPILE}
    HEADERS ${quick_headers})
  lime_prepare_headers(qt LIBRARIES QCustomPlotQt6::QCustomPlotQt6 Qt6::Widgets ${quick_libraries}
    OPTIONS ${LIME_QUICK_COMPILE} HEADERS ${quick_headers} <QtWidgets> <qcustomplot.h>)
endif()

# lime_precompile(TARGET KIND): TARGET compiles with the headers and the flags of KIND (library,
# quick, test, torch, torch_test); quick and test know by themselves whether TARGET needs Qt.
function(lime_precompile target kind)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  set(headers ${kind})
  if(kind MATCHES "^(quick|test)$")
    set(headers quick)
    if(libraries MATCHES "Qt6::|lime::(viz|explorer)")
      set(headers qt)
    endif()
  endif()
  # GCC instantiates what inline functions of LibTorch, fmt, nlohmann and gmock need anew in every
  # file: with LibTorch 3 s of an empty one.
  if(LIME_PRECOMPILE AND (NOT kind STREQUAL "library" OR target MATCHES "^lime_(core|checkpoint|store)$"))
    set(batch 6)
    if(kind MATCHES "test$")
      set(batch 16)
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  endif()
  if(NOT kind MATCHES "^(library|torch)$")
    target_compile_options(${target} PRIVATE ${LIME_QUICK_COMPILE})
  endif()
  if(TARGET lime_precompiled_${headers})
    target_compile_options(${target} PRIVATE ${LIME_PRECOMPILED_OPTIONS})
    lime_cache_precompiled(${target})
    # OpenMP is a flag that a precompiled header must share.
    if(libraries MATCHES "faiss")
      target_precompile_headers(${target} PRIVATE ${LIME_STANDARD_HEADERS})
    else()
      target_precompile_headers(${target} REUSE_FROM lime_precompiled_${headers})
    endif()
  endif()
endfunction()
