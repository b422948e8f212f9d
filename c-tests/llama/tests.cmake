# The headers of include/chatparse/llama with the headers that llama.cpp keeps, which come with a package of sources (Cargo.toml).
# Skipped where there is no such package.
set(llama_tests llama llama_strict llama_0_5_0 llama_b10587 llama_ik)
if(SANITIZERS_RUN_WITH_LEAKS_0)
  list(APPEND llama_tests llama_asan)
endif()

find_program(CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin")
set(llama_sources "")
if(CARGO)
  execute_process(
    COMMAND ${CARGO} metadata --locked --format-version 1 --manifest-path ${CMAKE_CURRENT_LIST_DIR}/Cargo.toml
    OUTPUT_VARIABLE metadata
    ERROR_VARIABLE metadata_error
    RESULT_VARIABLE metadata_failed
  )
  if(NOT metadata_failed AND metadata MATCHES "\"manifest_path\":\"([^\"]*/llama-cpp-sys-2-[^\"/]*)/Cargo.toml\"")
    set(llama_sources "${CMAKE_MATCH_1}/llama.cpp")
  endif()
endif()

if(NOT llama_sources)
  foreach(test ${llama_tests})
    add_test(NAME ${test} COMMAND sh -c "echo \"SKIP: cargo cannot get llama.cpp's headers: $0\"; exit 77" "${metadata_error}")
    set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
  return()
endif()

set(programs main.cpp messages.cpp templates.cpp parse.cpp peg.cpp schema.cpp json_schema.cpp)
list(TRANSFORM programs PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
foreach(test ${llama_tests})
  add_executable(${test} ${programs})
  target_link_libraries(${test} PRIVATE chatparse::llama llama_kept Threads::Threads)
  set_target_properties(${test} PROPERTIES NO_SYSTEM_FROM_IMPORTED ON) # our headers' warnings are ours
  target_compile_definitions(${test} PRIVATE TEMPLATES="${CMAKE_CURRENT_SOURCE_DIR}/../templates")
  add_test(NAME ${test} COMMAND ${test})
endforeach()
target_compile_definitions(llama_strict PRIVATE CHATPARSE_STRICT)
# What older versions keep is what this one keeps, as far as the tests need it.
target_compile_definitions(llama_0_5_0 PRIVATE CHATPARSE_LLAMA_VERSION=0_5_0)
target_compile_definitions(llama_b10587 PRIVATE CHATPARSE_LLAMA_VERSION=B10587)
# This one is known by its header, and has the JSON that llama.cpp's own is made of.
target_include_directories(llama_ik SYSTEM BEFORE PRIVATE ${CMAKE_CURRENT_LIST_DIR}/ik ${llama_sources}/vendor)

# A version that is not known is refused by its name, or by the numbers of its header.
get_target_property(headers chatparse::llama INTERFACE_INCLUDE_DIRECTORIES)
foreach(case "0_7_0 -DCHATPARSE_LLAMA_VERSION=0_7_0" "LLAMA_SESSION_VERSION.99 -DSESSION=99" "0_5_0|B10587|known -DSESSION=10")
  separate_arguments(case)
  list(GET case 0 expected)
  list(GET case 1 definition)
  add_test(
    NAME llama_version_${definition}
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 -fsyntax-only ${definition} -I${headers} -I${CMAKE_CURRENT_LIST_DIR}/version
            -I${llama_sources}/common ${CMAKE_CURRENT_LIST_DIR}/version/version.cpp
  )
  set_tests_properties(llama_version_${definition} PROPERTIES PASS_REGULAR_EXPRESSION "${expected}")
endforeach()

# What llama.cpp keeps, as far as the tests need it, and in place of the rest what fake.cpp says. Their warnings are theirs.
add_library(llama_kept STATIC ${CMAKE_CURRENT_LIST_DIR}/fake.cpp ${llama_sources}/common/json.cpp)
target_include_directories(llama_kept SYSTEM PUBLIC ${llama_sources}/common ${llama_sources}/include ${llama_sources}/ggml/include)
target_include_directories(llama_kept SYSTEM PRIVATE ${llama_sources}/vendor)
target_compile_features(llama_kept PUBLIC cxx_std_17)
set_source_files_properties(${llama_sources}/common/json.cpp PROPERTIES COMPILE_OPTIONS -w)

if(TARGET llama_asan)
  target_compile_options(llama_asan PRIVATE ${sanitizers} -g)
  target_link_options(llama_asan PRIVATE ${sanitizers})
  set_tests_properties(llama_asan PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=${leaks};UBSAN_OPTIONS=print_stacktrace=1")
endif()

if(NOT WIN32)
  add_test(
    NAME llama_replace
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/replace.sh ${CMAKE_CURRENT_SOURCE_DIR}/../cmake/llama/replace.sh ${llama_sources}
            ${CMAKE_CURRENT_BINARY_DIR}/llama_replace
  )
endif()
