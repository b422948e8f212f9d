# The library against what llama.cpp 0.8.0 did. corpus/parity.jsonl is what the parity data's recorder.cpp answered to each row's `in`,
# over our own templates. The answers of ours that differ, and the figures, are those of corpus/parity.txt, no more and no less; the end
# of cmake/LLAMA.md says why they differ. After a change on purpose, look at what differs now (parity --compare --show) and write
# the file again with the command of parity.sh. Skipped without yyjson (cases.cmake) or PCRE2.
find_path(PCRE2 pcre2.h)
find_library(PCRE2_LIBRARY pcre2-8)

set(missing "")
if(NOT TARGET yyjson)
  set(missing "there is no yyjson")
elseif(NOT PCRE2 OR NOT PCRE2_LIBRARY)
  set(missing "there is no PCRE2")
endif()
if(missing)
  add_test(NAME parity COMMAND sh -c "echo \"SKIP: $0\"; exit 77" "${missing}")
  set_tests_properties(parity PROPERTIES SKIP_RETURN_CODE 77)
  return()
endif()

set(sources parity.c answer.c judge.c names.c parts.c pattern.c space.c text.c timeline.c verdict.c words.c)
add_executable(parity ${sources})
target_link_libraries(parity PRIVATE chatparse::chatparse_shared)
add_sanitized(parity ${sources} RUNNER ${CMAKE_CURRENT_LIST_DIR}/parity.sh)
foreach(target parity parity_asan)
  if(TARGET ${target})
    target_include_directories(${target} SYSTEM PRIVATE ${PCRE2})
    target_link_libraries(${target} PRIVATE yyjson ${PCRE2_LIBRARY})
  endif()
endforeach()
# judges/platforms.sh runs it on other systems.
add_executable(replay replay.c answer.c parts.c text.c)
target_link_libraries(replay PRIVATE chatparse::chatparse_shared yyjson)
set_target_properties(parity replay PROPERTIES C_STANDARD 11)

add_test(NAME parity COMMAND ${CMAKE_CURRENT_LIST_DIR}/parity.sh $<TARGET_FILE:parity>)
if(VALGRIND)
  add_test(
    NAME parity_valgrind # of some rows only, or it would take a minute
    COMMAND sh -c "awk 'NR % 7 == 1' ../corpus/parity.jsonl | $0 --quiet --leak-check=full --error-exitcode=9 --suppressions=${CMAKE_CURRENT_LIST_DIR}/valgrind.supp $1 --compare ../templates"
            ${VALGRIND} $<TARGET_FILE:parity>
    WORKING_DIRECTORY ${CMAKE_CURRENT_LIST_DIR}
  )
endif()
