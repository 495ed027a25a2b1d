# Finds LibTorch: Torch_DIR as given, else the one of an active virtual environment, else Debian's.
# Wraps it into lime_torch, whose headers count as system headers.
if(NOT Torch_DIR AND DEFINED ENV{VIRTUAL_ENV})
  execute_process(
    COMMAND $ENV{VIRTUAL_ENV}/bin/python -c "import torch; print(torch.utils.cmake_prefix_path)"
    OUTPUT_VARIABLE LIME_TORCH_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(LIME_TORCH_PREFIX)
    set(Torch_DIR ${LIME_TORCH_PREFIX}/Torch CACHE PATH "LibTorch's CMake package")
  endif()
endif()
find_package(Torch REQUIRED)

add_library(lime_torch INTERFACE)
# Without the compiler's OpenMP, at::parallel_for in our own code is a plain loop.
target_link_libraries(lime_torch INTERFACE ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX)
target_include_directories(lime_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
# TORCH_CXX_FLAGS carries the C++ ABI of a wheel; our own code that meets Torch must share it.
separate_arguments(LIME_TORCH_FLAGS UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(lime_torch INTERFACE ${LIME_TORCH_FLAGS})
