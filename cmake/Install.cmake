# SPDX-License-Identifier: Apache-2.0
# cmake --install: programs, the SentencePiece plug-in, manual pages, completions, what a desktop needs
# to know, and the libraries without LibTorch for other CMake projects (find_package(lime)).
#
# A package is made of several builds (scripts/package.sh): LIME_PROCESSOR_LEVEL puts the programs of
# each into a folder of its own, and bin/ holds launchers that choose among them.
include(GNUInstallDirs)

set(LIME_PROGRAMS lime-capture lime-eval lime-explorer lime-figure lime-generate lime-metrics lime-train)
set(LIME_EXPORTED core linalg checkpoint store metrics analysis)

# The programs look for `../lib/lime` from where they lie.
if(LIME_PROCESSOR_LEVEL)
  set(LIME_LEVEL_PREFIX lib/lime/${LIME_PROCESSOR_LEVEL}/)
endif()
install(TARGETS ${LIME_PROGRAMS} RUNTIME DESTINATION ${LIME_LEVEL_PREFIX}bin COMPONENT programs)
install(TARGETS lime_gpu lime_sentencepiece lime-trial-read
  LIBRARY DESTINATION ${LIME_LEVEL_PREFIX}lib/lime COMPONENT programs
  RUNTIME DESTINATION ${LIME_LEVEL_PREFIX}lib/lime COMPONENT programs)

if(LIME_PROCESSOR_LEVEL)
  foreach(program IN LISTS LIME_PROGRAMS)
    install(PROGRAMS $<TARGET_FILE:lime-launcher> DESTINATION bin RENAME ${program}
      COMPONENT launchers)
  endforeach()
endif()

foreach(program IN LISTS LIME_PROGRAMS)
  set(docs ${PROJECT_BINARY_DIR}/docs)
  install(FILES ${docs}/${program}.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT shared)
  install(FILES ${docs}/${program}.bash RENAME ${program}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT shared)
  install(FILES ${docs}/${program}.zsh RENAME _${program}
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT shared)
  install(FILES ${docs}/${program}.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT shared)
endforeach()

set(desktop ${PROJECT_SOURCE_DIR}/app/explorer/desktop)
install(FILES ${desktop}/lime-explorer.desktop
  DESTINATION ${CMAKE_INSTALL_DATADIR}/applications COMPONENT shared)
install(FILES ${desktop}/lime-explorer.xml
  DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages COMPONENT shared)
install(FILES ${desktop}/lime-explorer.svg
  DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps COMPONENT shared)
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT shared)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT shared)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian/copyright
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT shared)
if(NOT LIME_PROCESSOR_LEVEL)  # Debian has the licence in /usr/share/common-licenses
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT shared)
endif()

# The CMake package. Eigen aligns its matrices by the processor that it is compiled for: who links our
# libraries must compile for the same.
target_compile_options(lime_core INTERFACE "$<INSTALL_INTERFACE:${LIME_MARCH}>")
target_compile_features(lime_core INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
set(targets lime_build_flags)
foreach(name IN LISTS LIME_EXPORTED)
  list(APPEND targets lime_${name})
  set_target_properties(lime_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(lime_${name}
    INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/lime>)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${name}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lime COMPONENT development
    FILES_MATCHING PATTERN "*.h")
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/generated/core/version.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lime/core COMPONENT development)
install(TARGETS ${targets} EXPORT lime ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  COMPONENT development)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/lime)
install(EXPORT lime NAMESPACE lime:: DESTINATION ${package} FILE limeTargets.cmake
  COMPONENT development)
include(CMakePackageConfigHelpers)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/limeConfig.cmake.in
  ${PROJECT_BINARY_DIR}/limeConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/limeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/limeConfig.cmake ${PROJECT_BINARY_DIR}/limeConfigVersion.cmake
  DESTINATION ${package} COMPONENT development)

include(Package)
