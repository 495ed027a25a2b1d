# SPDX-License-Identifier: Apache-2.0
# cpack -G DEB: lime with the programs, lime-dev with the libraries. scripts/package.sh builds the
# programs for each level of processors and packs them together.
set(CPACK_PACKAGE_NAME lime)
set(CPACK_PACKAGE_VENDOR "The LIMe toolkit contributors")
# Who builds a package is its maintainer: by Debian's environment variables, else as git knows them.
foreach(part NAME EMAIL)
  string(TOLOWER ${part} key)
  string(REPLACE NAME FULLNAME variable DEB${part})
  execute_process(COMMAND git config user.${key} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE maintainer_${part} OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(DEFINED ENV{${variable}})
    set(maintainer_${part} "$ENV{${variable}}")
  endif()
endforeach()
if(NOT maintainer_EMAIL)
  set(maintainer_NAME "The LIMe toolkit contributors")
  set(maintainer_EMAIL "root@localhost")
  message(STATUS "The maintainer of Debian packages is unknown; set DEBFULLNAME and DEBEMAIL")
endif()
set(CPACK_PACKAGE_CONTACT "${maintainer_NAME} <${maintainer_EMAIL}>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures representation collapse in transformers")
set(CPACK_PACKAGE_INSTALL_DIRECTORY lime)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL programs shared development)
if(LIME_PROCESSOR_LEVEL)
  list(APPEND CPACK_COMPONENTS_ALL launchers)
endif()
foreach(component programs shared launchers)
  string(TOUPPER ${component} name)
  set(CPACK_COMPONENT_${name}_GROUP lime)
endforeach()
set(CPACK_COMPONENT_DEVELOPMENT_GROUP dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIME_PACKAGE_NAME lime)
set(CPACK_DEBIAN_LIME_DESCRIPTION
  "Runs decoder-only language models, stores the activations of every layer in
HDF5, and computes entropies, ranks, probes and router maps with confidence
intervals, as tables, figures or in a GUI.")
# LibTorch and the metrics are many times slower on the reference BLAS; figures need their font.
set(CPACK_DEBIAN_LIME_PACKAGE_DEPENDS "libopenblas0-openmp, fonts-liberation")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME lime-dev)
set(CPACK_DEBIAN_DEV_DESCRIPTION
  "Headers, static libraries and the CMake package of lime's metrics and files,
without LibTorch.")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "libeigen3-dev, libfmt-dev, nlohmann-json3-dev, libcli11-dev, libssl-dev, libhdf5-dev, zlib1g-dev, libspectra-dev, libfaiss-dev, libopenblas-openmp-dev, libpcre2-dev, libutf8proc-dev, pkg-config")

# What Debian asks of each package. The version without a revision says that there is no other source.
if(LIME_PROCESSOR_LEVEL)
  set(changelog ${PROJECT_BINARY_DIR}/debian/changelog.gz)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/debian)
  execute_process(COMMAND gzip -9nc ${PROJECT_SOURCE_DIR}/cmake/debian/changelog
    OUTPUT_FILE ${changelog} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${changelog} DESTINATION share/doc/lime COMPONENT shared)
  install(FILES ${changelog} ${PROJECT_SOURCE_DIR}/cmake/debian/copyright
    DESTINATION share/doc/lime-dev COMPONENT development)
endif()

set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/PackageLevels.cmake)
include(CPack)
