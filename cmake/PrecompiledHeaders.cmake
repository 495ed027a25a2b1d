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

# Code that takes no time in a program but much in the compiler, and tests, of which every line runs
# a few times. The level is part of a precompiled header, so it belongs to the kind of target.
set(LIME_QUICK_COMPILE $<$<CONFIG:Release>:-O1>)
set(LIME_TEST_COMPILE $<$<CONFIG:Release>:-O0>)

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

if(TARGET lime_torch)
  lime_prepare_headers(torch LIBRARIES lime_torch
    HEADERS ${LIME_STANDARD_HEADERS} ${LIME_TORCH_HEADERS})
endif()
if(LIME_BUILD_TESTS)
  lime_prepare_headers(torch_test LIBRARIES lime_torch GTest::gmock OPTIONS ${LIME_TEST_COMPILE}
    HEADERS ${LIME_STANDARD_HEADERS} ${LIME_TORCH_TEST_HEADERS} ${LIME_TEST_HEADERS})
endif()
if(LIME_PRECOMPILE)
  lime_prepare_headers(library HEADERS ${LIME_STANDARD_HEADERS})
  lime_prepare_headers(quick OPTIONS ${LIME_QUICK_COMPILE} HEADERS ${LIME_STANDARD_HEADERS})
endif()
if(LIME_PRECOMPILE AND NOT LIME_PYTHON)
  # The window and figures share what their tests are compiled with: a header less. What the target of
  # GoogleTest defines is defined for all then, as it must be.
  set(qt_libraries QCustomPlotQt6::QCustomPlotQt6 Qt6::Widgets)
  set(qt_headers ${LIME_STANDARD_HEADERS} <QtWidgets> <qcustomplot.h>)
  if(LIME_BUILD_TESTS)
    lime_prepare_headers(test LIBRARIES GTest::gmock OPTIONS ${LIME_TEST_COMPILE}
      HEADERS ${LIME_STANDARD_HEADERS} ${LIME_TEST_HEADERS})
    list(APPEND qt_libraries GTest::gmock)
    list(APPEND qt_headers ${LIME_TEST_HEADERS})
    target_compile_options(lime_build_flags INTERFACE
      $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
  endif()
  lime_prepare_headers(qt LIBRARIES ${qt_libraries} OPTIONS ${LIME_QUICK_COMPILE}
    HEADERS ${qt_headers})
endif()

# lime_precompile(TARGET KIND): TARGET compiles with the headers and the flags of KIND:
#   library     what programs spend their time in, at the level of the build
#   quick       what takes no time, at -O1
#   test        tests, at -O0
#   torch, torch_test   library and test with LibTorch
# quick and test know by themselves whether TARGET needs Qt: then both are at -O1.
function(lime_precompile target kind)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  set(headers ${kind})
  if(kind MATCHES "^(quick|test)$" AND libraries MATCHES "Qt6::|lime::(viz|explorer)")
    set(headers qt)
  endif()
  # GCC instantiates what inline functions of LibTorch, fmt, nlohmann and gmock need anew in every
  # file: with LibTorch 2 s of an empty one.
  if(LIME_PRECOMPILE AND (NOT kind STREQUAL "library" OR target MATCHES "^lime_(core|checkpoint|store)$"))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
  if(headers MATCHES "^(quick|qt)$")
    target_compile_options(${target} PRIVATE ${LIME_QUICK_COMPILE})
  elseif(headers MATCHES "test$")
    target_compile_options(${target} PRIVATE ${LIME_TEST_COMPILE})
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
