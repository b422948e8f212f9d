# The headers of include/chatparse/llama with the headers that llama.cpp keeps, which come with a package of sources (Cargo.toml).
# Skipped where there is no such package.
set(llama_tests llama)
set(versions now)
if(ALL)
  list(APPEND llama_tests llama_strict llama_b11549 llama_0_6_0 llama_ik)
  list(APPEND versions older)
  if(SANITIZERS_RUN_WITH_LEAKS_0)
    list(APPEND llama_tests llama_asan)
  endif()
endif()

find_program(CARGO cargo HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin")
# The sources of each version, and a library of what it keeps, as far as the tests need it, with what fake.cpp says in place of the
# rest. Their warnings are theirs.
foreach(version ${versions})
  set(manifest ${CMAKE_CURRENT_LIST_DIR}/Cargo.toml)
  if(version STREQUAL older)
    set(manifest ${CMAKE_CURRENT_LIST_DIR}/older/Cargo.toml)
  endif()
  set(metadata "")
  if(CARGO)
    execute_process(
      COMMAND ${CARGO} metadata --locked --format-version 1 --manifest-path ${manifest} OUTPUT_VARIABLE metadata ERROR_VARIABLE metadata_error
    )
  endif()
  if(NOT metadata MATCHES "\"manifest_path\":\"([^\"]*/llama-cpp-sys-[^\"/]*)/Cargo.toml\"")
    foreach(test ${llama_tests})
      add_test(NAME ${test} COMMAND sh -c "echo \"SKIP: cargo cannot get llama.cpp's headers: $0\"; exit 77" "${metadata_error}")
      set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77)
    endforeach()
    return()
  endif()
  set(sources "${CMAKE_MATCH_1}/llama.cpp")
  set(llama_${version} ${sources})
  add_library(llama_kept_${version} STATIC ${CMAKE_CURRENT_LIST_DIR}/fake.cpp ${sources}/common/json.cpp)
  target_include_directories(llama_kept_${version} SYSTEM PUBLIC ${sources}/common ${sources}/include ${sources}/ggml/include)
  target_include_directories(llama_kept_${version} SYSTEM PRIVATE ${sources}/vendor)
  target_compile_features(llama_kept_${version} PUBLIC cxx_std_17)
  set_source_files_properties(${sources}/common/json.cpp PROPERTIES COMPILE_OPTIONS -w)
endforeach()

set(programs main.cpp messages.cpp templates.cpp parse.cpp session.cpp peg.cpp schema.cpp json_schema.cpp)
list(TRANSFORM programs PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
foreach(test ${llama_tests})
  set(kept llama_kept_now)
  if(test MATCHES "0_6_0|ik")
    set(kept llama_kept_older)
  endif()
  add_executable(${test} ${programs})
  target_link_libraries(${test} PRIVATE chatparse::llama ${kept} Threads::Threads)
  set_target_properties(${test} PROPERTIES NO_SYSTEM_FROM_IMPORTED ON) # our headers' warnings are ours
  target_compile_definitions(${test} PRIVATE TEMPLATES="${CMAKE_CURRENT_SOURCE_DIR}/../templates")
  add_test(NAME ${test} COMMAND ${test})
endforeach()
if(ALL)
  target_compile_definitions(llama_strict PRIVATE CHATPARSE_STRICT)
  target_compile_definitions(llama_0_6_0 PRIVATE CHATPARSE_LLAMA_VERSION=0_6_0)
  # What this one keeps is what 0.8.0 keeps, as far as the tests need it.
  target_compile_definitions(llama_b11549 PRIVATE CHATPARSE_LLAMA_VERSION=B11549)
  # This one is known by its header, and has the JSON that llama.cpp's own is made of.
  target_include_directories(llama_ik SYSTEM BEFORE PRIVATE ${CMAKE_CURRENT_LIST_DIR}/ik ${llama_older}/vendor)
endif()

# A version that is not known is refused by its name, or by the numbers of its header.
get_target_property(headers chatparse::llama INTERFACE_INCLUDE_DIRECTORIES)
foreach(case "0_5_0 -DCHATPARSE_LLAMA_VERSION=0_5_0" "LLAMA_SESSION_VERSION.99 -DSESSION=99" "0_8_0|known -DSESSION=11")
  separate_arguments(case)
  list(GET case 0 expected)
  list(GET case 1 definition)
  add_test(
    NAME llama_version_${definition}
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++17 -fsyntax-only ${definition} -I${headers} -I${CMAKE_CURRENT_LIST_DIR}/version
            -I${llama_now}/common ${CMAKE_CURRENT_LIST_DIR}/version/version.cpp
  )
  set_tests_properties(llama_version_${definition} PROPERTIES PASS_REGULAR_EXPRESSION "${expected}")
endforeach()

if(TARGET llama_asan)
  target_compile_options(llama_asan PRIVATE ${sanitizers} -g)
  target_link_options(llama_asan PRIVATE ${sanitizers})
  set_tests_properties(llama_asan PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=${leaks};UBSAN_OPTIONS=print_stacktrace=1")
endif()

if(NOT WIN32)
  add_test(
    NAME llama_replace
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/replace.sh ${CMAKE_CURRENT_SOURCE_DIR}/../cmake/llama/replace.sh ${llama_now}
            ${CMAKE_CURRENT_BINARY_DIR}/llama_replace
  )
endif()
