# SPDX-License-Identifier: Apache-2.0
# Warnings and machine options of our own code, as one INTERFACE target.
add_library(lime_build_flags INTERFACE)
# GCC 12 reports -Wrestrict falsely in std::string's operator+ (GCC bug 105651).
target_compile_options(lime_build_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(LIME_WERROR)
  target_compile_options(lime_build_flags INTERFACE -Werror)
endif()
if(LIME_NATIVE)
  target_compile_options(lime_build_flags INTERFACE -march=native)
endif()
