# SPDX-License-Identifier: Apache-2.0
# Looks for the CUDA toolkit, without a word where there is none: LIME_HAS_CUDA says whether
# liblime_cuda.so is built (src/metrics/device/cuda). It needs cusolverDnXsyevBatched, which came with
# update 2 of CUDA 12.6; 12.8 is the version after that.
option(LIME_CUDA "Build the module that computes on GPUs where the CUDA toolkit is found" ON)
set(LIME_HAS_CUDA OFF)
if(LIME_CUDA AND NOT LIME_SANITIZE)
  find_package(CUDAToolkit 12.8 QUIET)
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE AND TARGET CUDA::cublas
      AND TARGET CUDA::cusolver)
    set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "nvcc")
    enable_language(CUDA)
    set(LIME_HAS_CUDA ON)
  endif()
endif()
