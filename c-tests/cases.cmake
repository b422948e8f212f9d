# The cases of tests/cases, through chatparse.h alone. JSON is read by yyjson, from a package of sources (json/Cargo.toml); skipped
# without that, and without a Python that reads TOML.
execute_process(
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/json/sources.sh
  OUTPUT_VARIABLE yyjson_sources OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_VARIABLE yyjson_error
  RESULT_VARIABLE yyjson_failed
)
if(yyjson_failed)
  add_test(NAME cases COMMAND sh -c "echo \"SKIP: $0\"; exit 77" "cargo cannot get yyjson: ${yyjson_error}")
  set_tests_properties(cases PROPERTIES SKIP_RETURN_CODE 77)
  return()
endif()

add_library(yyjson STATIC ${yyjson_sources}/yyjson.c)
target_include_directories(yyjson SYSTEM PUBLIC ${yyjson_sources})
target_compile_options(yyjson PRIVATE -w)

add_executable(cases cases.c text.c)
set_target_properties(cases PROPERTIES C_STANDARD 11)
target_link_libraries(cases PRIVATE chatparse::chatparse_shared yyjson)
add_test(NAME cases COMMAND ${CMAKE_CURRENT_LIST_DIR}/cases.sh $<TARGET_FILE:cases>)
add_sanitized(cases cases.c text.c RUNNER ${CMAKE_CURRENT_LIST_DIR}/cases.sh)
if(TARGET cases_asan)
  target_link_libraries(cases_asan PRIVATE yyjson)
endif()
foreach(name cases cases_asan)
  if(TEST ${name})
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endforeach()
