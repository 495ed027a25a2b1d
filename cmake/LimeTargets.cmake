# SPDX-License-Identifier: Apache-2.0
# How every library, program and test of the project is declared.

# Where the header check (tests/structure) finds the headers and their libraries.
define_property(GLOBAL PROPERTY LIME_HEADERS BRIEF_DOCS "library|header, one per item")

# lime_add_library(NAME SOURCES ... PUBLIC ... PRIVATE ... [TORCH] [QUICK])
# The static library lime_NAME with the alias lime::NAME; headers are included as "NAME/x.h".
# QUICK: the library is never what a program waits for, so the compiler need not work hard. It must
# not instantiate kernels of Eigen: the linker keeps one of several equal functions, maybe the slow.
function(lime_add_library name)
  cmake_parse_arguments(ARG "TORCH;QUICK" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(lime_${name} STATIC ${ARG_SOURCES})
  add_library(lime::${name} ALIAS lime_${name})
  target_include_directories(lime_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_link_libraries(lime_${name} PUBLIC ${ARG_PUBLIC} PRIVATE lime_build_flags ${ARG_PRIVATE})
  if(ARG_TORCH)
    target_link_libraries(lime_${name} PUBLIC lime_torch)
    lime_precompile(lime_${name} torch)
  elseif(ARG_QUICK)
    lime_precompile(lime_${name} quick)
  else()
    lime_precompile(lime_${name} library)
  endif()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.h)
  foreach(header IN LISTS headers)
    set_property(GLOBAL APPEND PROPERTY LIME_HEADERS "${name}|${header}")
  endforeach()
endfunction()

# lime_add_program(NAME SOURCES ... LIBRARIES ... [TORCH])
function(lime_add_program name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  add_dependencies(${name} lime-trial-read)
  target_link_libraries(${name} PRIVATE lime_build_flags ${ARG_LIBRARIES})
  if(ARG_TORCH OR ARG_LIBRARIES MATCHES "lime::(model|train|capture|measure|evaluation)")
    target_link_libraries(${name} PRIVATE lime_torch)
    lime_precompile(${name} torch)
  else()
    lime_precompile(${name} quick)
  endif()
endfunction()

# lime_add_test_library(NAME SOURCES ... LIBRARIES ... [TORCH])
# The static library NAME of what several test programs share; headers are included as "x/y.h". Where
# tests compute much, they do it in such a library, which without LibTorch is compiled as programs are.
function(lime_add_test_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PUBLIC ${ARG_LIBRARIES} PRIVATE lime_build_flags GTest::gmock)
  if(ARG_TORCH)
    lime_precompile(${name} torch_test)
  else()
    lime_precompile(${name} quick)
  endif()
endfunction()

# Test programs are many: where there is gold, which takes a tenth of the time, it links them.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold LIME_HAS_GOLD)
set(LIME_TEST_LINKER)
if(LIME_HAS_GOLD AND NOT LIME_SANITIZE)
  set(LIME_TEST_LINKER -fuse-ld=gold)
endif()

# Lets ctest know the suites of the test program TARGET.
function(lime_discover_suites target labels timeout)
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  set(find ${PROJECT_SOURCE_DIR}/cmake/DiscoverSuites.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${list} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> -DOUTPUT=${list}
      "-DLABELS=${labels}" -DTIMEOUT=${timeout} -P ${find})
  set(include ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
  file(WRITE ${include} "if(EXISTS [=[${list}]=])\n  include([=[${list}]=])\nelse()\n"
    "  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${include})
endfunction()

# lime_add_test(NAME SOURCES ... LIBRARIES ... [LABELS ...] [TIMEOUT s] [TORCH] [REAL_MODEL])
# One GoogleTest program; ctest knows each of its tests, or with LibTorch each suite, under its own
# name and LABELS. TIMEOUT is that of a test; under sanitizers, which slow programs down, ten times it.
# REAL_MODEL: suites with RealModel in their name have the label `real` (without LibTorch).
function(lime_add_test name)
  cmake_parse_arguments(ARG "TORCH;REAL_MODEL" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(LIME_SANITIZE)
    math(EXPR ARG_TIMEOUT "10 * ${ARG_TIMEOUT}")
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  add_dependencies(${name} lime-trial-read)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name}
    PRIVATE lime_build_flags ${ARG_LIBRARIES} lime_test_support GTest::gmock GTest::gtest_main)
  target_link_options(${name} PRIVATE ${LIME_TEST_LINKER})
  if(ARG_TORCH OR ARG_LIBRARIES MATCHES "lime::(model|train|capture|measure|evaluation)")
    target_link_libraries(${name} PRIVATE lime_torch)
    lime_precompile(${name} torch_test)
    math(EXPR timeout "5 * ${ARG_TIMEOUT}")
    lime_discover_suites(${name} "${ARG_LABELS}" ${timeout})
  else()
    lime_precompile(${name} test)
    include(GoogleTest)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES TEST_FILTER -*RealModel*
      PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
    if(ARG_REAL_MODEL)
      gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES TEST_FILTER *RealModel*
        PROPERTIES LABELS real TIMEOUT ${ARG_TIMEOUT})
    endif()
  endif()
endfunction()
