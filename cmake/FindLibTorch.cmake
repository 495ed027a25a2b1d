# SPDX-License-Identifier: Apache-2.0
# Finds LibTorch: Torch_DIR as given, else the one of an active virtual environment, else Debian's.
# Wraps it into lime_torch, whose headers count as system headers.
if(NOT Torch_DIR AND DEFINED ENV{VIRTUAL_ENV})
  execute_process(
    COMMAND $ENV{VIRTUAL_ENV}/bin/python -c "import torch; print(torch.utils.cmake_prefix_path)"
    OUTPUT_VARIABLE LIME_TORCH_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(LIME_TORCH_PREFIX)
    set(Torch_DIR ${LIME_TORCH_PREFIX}/Torch CACHE PATH "LibTorch's CMake package" FORCE)
  endif()
endif()
# TorchConfig.cmake looks for its own libraries (c10, torch, Caffe2) in the system's folders first,
# and would take Debian's where both are installed.
set(LIME_SAVED_PREFIX_PATH "${CMAKE_PREFIX_PATH}")
if(Torch_DIR)
  get_filename_component(LIME_TORCH_ROOT ${Torch_DIR}/../../.. ABSOLUTE)
  list(PREPEND CMAKE_PREFIX_PATH ${LIME_TORCH_ROOT})
endif()
# A LibTorch with CUDA would else ask the GPU at hand for its architecture, and fail without one; we
# compile no kernels of our own.
if(NOT DEFINED ENV{TORCH_CUDA_ARCH_LIST})
  set(ENV{TORCH_CUDA_ARCH_LIST} 9.0)
endif()
find_package(Torch REQUIRED)
set(CMAKE_PREFIX_PATH "${LIME_SAVED_PREFIX_PATH}")

# The targets of newer wheels ask for protobuf, which their libraries carry and we do not use.
get_target_property(LIME_TORCH_LINKS torch_cpu INTERFACE_LINK_LIBRARIES)
if(LIME_TORCH_LINKS)
  list(REMOVE_ITEM LIME_TORCH_LINKS protobuf::libprotobuf)
  set_property(TARGET torch_cpu PROPERTY INTERFACE_LINK_LIBRARIES ${LIME_TORCH_LINKS})
endif()

add_library(lime_torch INTERFACE)
# Wheels bring headers of another fmt than the one we link: ours must be found first.
get_target_property(LIME_FMT_INCLUDE fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
list(GET TORCH_INCLUDE_DIRS 0 LIME_TORCH_INCLUDE)
if(EXISTS ${LIME_TORCH_INCLUDE}/fmt AND NOT LIME_TORCH_INCLUDE STREQUAL LIME_FMT_INCLUDE)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/first)
  file(CREATE_LINK ${LIME_FMT_INCLUDE}/fmt ${PROJECT_BINARY_DIR}/first/fmt SYMBOLIC)
  target_include_directories(lime_torch SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/first)
  # A wheel's libraries find theirs (NCCL, cuDNN) by themselves at run time; the linker may find
  # older ones of the system.
  target_link_options(lime_torch INTERFACE -Wl,--allow-shlib-undefined)
endif()
# Without the compiler's OpenMP, at::parallel_for in our own code is a plain loop.
# PyTorch's wheels export parts of the C++ library that they were linked with, std::filesystem among
# them, which crash in place of the system's: that one must be found first.
target_link_libraries(lime_torch INTERFACE stdc++ ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX)
target_include_directories(lime_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
# TORCH_CXX_FLAGS carries the C++ ABI of a wheel; our own code that meets Torch must share it.
separate_arguments(LIME_TORCH_FLAGS UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(lime_torch INTERFACE ${LIME_TORCH_FLAGS})
