# SPDX-License-Identifier: Apache-2.0
# Run after a test program is linked (lime_add_test): writes OUTPUT, by which ctest knows each suite
# of PROGRAM as one test. Loading LibTorch takes half a second, too long for a process per test.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests
  OUTPUT_VARIABLE listing RESULT_VARIABLE status TIMEOUT 60)
if(NOT status EQUAL 0)
  file(REMOVE ${PROGRAM})
  message(FATAL_ERROR "'${PROGRAM} --gtest_list_tests' ended with ${status}: ${listing}")
endif()
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\.\n" suites "${listing}")
set(script "")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "[.\n]" "" suite ${suite})
  string(APPEND script "add_test([=[${suite}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=])\n"
    "set_tests_properties([=[${suite}]=] PROPERTIES LABELS [=[${LABELS}]=] TIMEOUT ${TIMEOUT})\n")
endforeach()
file(WRITE ${OUTPUT} "${script}")
