# SPDX-License-Identifier: Apache-2.0
# cmake -DNM=nm -DLIBRARIES=a.a;b.a -P quick_libraries.cmake
# Fails if a library compiled at -O1 instantiates products or decompositions of Eigen. The linker
# keeps one of several equal functions, maybe that one: slower, with other last digits.
set(kernels
  "gebp_kernel|general_matrix_|triangular_solve|triangular_matrix|ll?d?l?t_inplace|selfadjoint_|gemv_dense")
foreach(library IN LISTS LIBRARIES)
  execute_process(COMMAND ${NM} --demangle ${library} OUTPUT_VARIABLE symbols
    RESULT_VARIABLE status ERROR_QUIET)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${library}: nm failed; build the libraries first")
  endif()
  string(REGEX MATCHALL "[^\n]* W [^\n]*Eigen::internal::(${kernels})[^\n]*" found "${symbols}")
  if(found)
    list(GET found 0 first)
    message(FATAL_ERROR "${library} instantiates a kernel of Eigen; move the computation to "
      "src/metrics:\n${first}")
  endif()
endforeach()
