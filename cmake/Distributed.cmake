# SPDX-License-Identifier: Apache-2.0
# With what the LibTorch at hand can connect processes: lime_distributed carries LIME_HAS_GLOO,
# LIME_HAS_NCCL and LIME_HAS_MPI, and what must be linked for them.
include(CheckCXXSourceCompiles)
add_library(lime_distributed INTERFACE)

# lime_probe_back_end(NAME CALL LIBRARY): tries to build a program that has c10d's ProcessGroupNAME.
function(lime_probe_back_end name call library)
  find_library(LIME_${name}_LIBRARY ${library})
  mark_as_advanced(LIME_${name}_LIBRARY)
  set(CMAKE_REQUIRED_INCLUDES ${TORCH_INCLUDE_DIRS})
  set(CMAKE_REQUIRED_LIBRARIES ${TORCH_LIBRARIES})
  separate_arguments(CMAKE_REQUIRED_FLAGS UNIX_COMMAND "${TORCH_CXX_FLAGS}")
  if(LIME_${name}_LIBRARY)
    list(APPEND CMAKE_REQUIRED_LIBRARIES ${LIME_${name}_LIBRARY})
  endif()
  string(TOUPPER ${name} upper)
  set(CMAKE_REQUIRED_DEFINITIONS -DUSE_C10D_${upper})
  get_target_property(CMAKE_REQUIRED_LINK_OPTIONS lime_torch INTERFACE_LINK_OPTIONS)
  if(NOT CMAKE_REQUIRED_LINK_OPTIONS)
    set(CMAKE_REQUIRED_LINK_OPTIONS)
  endif()
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("
    #include <torch/csrc/distributed/c10d/ProcessGroup${name}.hpp>
    int main(int argc, char**) {
      if (argc > 1) c10d::ProcessGroup${name}::${call};
      return 0;
    }" LIME_HAS_${upper})
  if(LIME_HAS_${upper})
    target_compile_definitions(lime_distributed INTERFACE LIME_HAS_${upper} USE_C10D_${upper})
    if(LIME_${name}_LIBRARY)
      target_link_libraries(lime_distributed INTERFACE ${LIME_${name}_LIBRARY})
    endif()
  endif()
endfunction()

lime_probe_back_end(Gloo "createDefaultDevice()" gloo)
lime_probe_back_end(NCCL "Options::create()" nccl)
lime_probe_back_end(MPI "createProcessGroupMPI()" mpi_cxx)
