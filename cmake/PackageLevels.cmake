# SPDX-License-Identifier: Apache-2.0
# Read by cpack: -D LIME_LEVEL_BUILDS="FOLDER;..." adds the programs of further builds. What stands in
# the third place names a set of components.
set(CPACK_COMPONENTS_LEVELS programs)
foreach(build IN LISTS LIME_LEVEL_BUILDS)
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS ${build} lime LEVELS /)
endforeach()
