# SPDX-License-Identifier: Apache-2.0
# What a wheel contains besides our code. LIME_BUNDLE is a folder with a static HDF5 and OpenBLAS as
# liblime-openblas.so (packaging/wheel/libraries.sh); the other libraries are linked statically.
# Included before and after the libraries are looked for.
if(NOT TARGET fmt::fmt)
  set(HDF5_ROOT ${LIME_BUNDLE})
  set(HDF5_USE_STATIC_LIBRARIES ON)
  set(HDF5_NO_FIND_PACKAGE_CONFIG_FILE ON)
  set(HDF5_C_COMPILER_EXECUTABLE HDF5_C_COMPILER_EXECUTABLE-NOTFOUND)
  set(ZLIB_USE_STATIC_LIBS ON)
  set(OPENSSL_USE_STATIC_LIBS ON)
  return()
endif()

# Debian has fmt as a shared library and as headers.
set_target_properties(fmt::fmt PROPERTIES INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY=1)
# The system's BLAS is found, and named by FAISS.
set_target_properties(BLAS::BLAS LAPACK::LAPACK PROPERTIES INTERFACE_LINK_LIBRARIES
  ${LIME_BUNDLE}/lib/liblime-openblas.so)
set_target_properties(faiss PROPERTIES INTERFACE_LINK_LIBRARIES
  "$<LINK_ONLY:OpenMP::OpenMP_CXX>;BLAS::BLAS")
foreach(name PCRE2 Utf8proc)
  add_library(PkgConfig::${name} STATIC IMPORTED)
endforeach()
find_library(LIME_PCRE2 libpcre2-8.a REQUIRED)
find_library(LIME_UTF8PROC libutf8proc.a REQUIRED)
set_target_properties(PkgConfig::PCRE2 PROPERTIES IMPORTED_LOCATION ${LIME_PCRE2})
set_target_properties(PkgConfig::Utf8proc PROPERTIES IMPORTED_LOCATION ${LIME_UTF8PROC})

# Not libgcc, whose unwinder would need a newer glibc; manylinux has it. hypot() of an older glibc:
# hypot.c says why.
add_library(lime_hypot STATIC ${PROJECT_SOURCE_DIR}/packaging/wheel/hypot.c)
set_target_properties(lime_hypot PROPERTIES POSITION_INDEPENDENT_CODE ON)
link_libraries(lime_hypot)
add_link_options(-static-libstdc++ LINKER:--as-needed,--exclude-libs,ALL,--wrap=hypot,--gc-sections,-s)
