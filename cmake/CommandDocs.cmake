# SPDX-License-Identifier: Apache-2.0
# lime_document_programs(PROGRAM...): after each program is built, it writes its manual page and its
# completions into docs/ of the build folder.
function(lime_document_programs)
  set(folder ${PROJECT_BINARY_DIR}/docs)
  set(written)
  foreach(program IN LISTS ARGN)
    set(page ${folder}/${program})
    add_custom_command(OUTPUT ${page}.1.gz ${page}.bash ${page}.zsh ${page}.fish
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND ${program} --help-man > ${page}.1
      COMMAND gzip -9nf ${page}.1
      COMMAND ${program} --completion bash > ${page}.bash
      COMMAND ${program} --completion zsh > ${page}.zsh
      COMMAND ${program} --completion fish > ${page}.fish
      DEPENDS ${program} COMMENT "Writing the manual page of ${program}" VERBATIM)
    list(APPEND written ${page}.1.gz)
  endforeach()
  add_custom_target(lime_command_docs ALL DEPENDS ${written})
endfunction()
