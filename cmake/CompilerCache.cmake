# SPDX-License-Identifier: Apache-2.0
# Compiles through ccache where it is installed, so that a second build takes seconds.
find_program(LIME_CCACHE ccache)
if(LIME_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${LIME_CCACHE})
endif()
