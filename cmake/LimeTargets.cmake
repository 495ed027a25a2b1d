# How every library, program and test of the project is declared.

# Where the header check (tests/structure) finds the public headers and their libraries.
define_property(GLOBAL PROPERTY LIME_PUBLIC_HEADERS BRIEF_DOCS "library|header, one per item")

# lime_add_library(NAME SOURCES ... HEADERS ... PUBLIC ... PRIVATE ... [TORCH])
# The static library lime_NAME with the alias lime::NAME; headers are included as "NAME/x.h".
function(lime_add_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;HEADERS;PUBLIC;PRIVATE" ${ARGN})
  add_library(lime_${name} STATIC ${ARG_SOURCES} ${ARG_HEADERS})
  add_library(lime::${name} ALIAS lime_${name})
  target_include_directories(lime_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(lime_${name} PUBLIC ${ARG_PUBLIC} PRIVATE lime_build_flags ${ARG_PRIVATE})
  if(ARG_TORCH)
    lime_use_torch(lime_${name} PUBLIC)
  endif()
  foreach(header IN LISTS ARG_HEADERS)
    set_property(GLOBAL APPEND PROPERTY LIME_PUBLIC_HEADERS "${name}|${header}")
  endforeach()
endfunction()

# lime_add_program(NAME SOURCES ... LIBRARIES ... [TORCH])
function(lime_add_program name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE lime_build_flags ${ARG_LIBRARIES})
  if(ARG_TORCH)
    lime_use_torch(${name} PRIVATE)
  endif()
endfunction()

# lime_add_test(NAME SOURCES ... LIBRARIES ... [LABELS ...] [TIMEOUT s] [TORCH])
# One GoogleTest program; each of its tests is known to ctest under its own name and LABELS.
function(lime_add_test name)
  cmake_parse_arguments(ARG "TORCH" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name}
    PRIVATE lime_build_flags ${ARG_LIBRARIES} lime_test_support GTest::gmock GTest::gtest_main)
  if(ARG_TORCH)
    lime_use_torch(${name} PRIVATE)
  endif()
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()

# Links LibTorch and precompiles its header, once for all targets that share the flags.
function(lime_use_torch target visibility)
  target_link_libraries(${target} ${visibility} lime_torch)
  target_precompile_headers(${target} PRIVATE <torch/torch.h>)
  # From a precompiled header, GCC 12 takes the AVX-512 intrinsics for uninitialised (GCC bug 105593).
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized -Wno-maybe-uninitialized>)
endfunction()
