# add_sanitized(NAME SOURCE... [RUNNER SCRIPT]) adds the test NAME_asan: the program compiled with AddressSanitizer and
# UndefinedBehaviorSanitizer, over the shared library; with a script, what that says of the program. What the library allocates lies on the program's heap, so an object that is
# never freed, or used when it is gone, is found. Adds nothing where the compiler has no such sanitizers.
include(CheckCSourceRuns)

set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)

# Leaks cannot be looked for where a debugger is attached, or a sandbox forbids to.
list(JOIN sanitizers " " CMAKE_REQUIRED_FLAGS)
foreach(leaks 1 0)
  set(ENV{ASAN_OPTIONS} detect_leaks=${leaks})
  check_c_source_runs("int main(void) { return 0; }" SANITIZERS_RUN_WITH_LEAKS_${leaks})
endforeach()
unset(ENV{ASAN_OPTIONS})
unset(CMAKE_REQUIRED_FLAGS)

if(SANITIZERS_RUN_WITH_LEAKS_1)
  set(leaks 1)
elseif(SANITIZERS_RUN_WITH_LEAKS_0)
  set(leaks 0)
  message(STATUS "The sanitizers cannot look for leaks here")
else()
  message(STATUS "The programs do not run with sanitizers: ${CMAKE_C_COMPILER} has none")
endif()

function(add_sanitized name)
  if(NOT SANITIZERS_RUN_WITH_LEAKS_0)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 given "" RUNNER "")
  add_executable(${name}_asan ${given_UNPARSED_ARGUMENTS})
  target_link_libraries(${name}_asan PRIVATE chatparse::chatparse_shared Threads::Threads)
  target_compile_definitions(${name}_asan PRIVATE PACKAGE_VERSION="${chatparse_VERSION}")
  target_compile_options(${name}_asan PRIVATE ${sanitizers} -g)
  target_link_options(${name}_asan PRIVATE ${sanitizers})
  set_target_properties(${name}_asan PROPERTIES C_STANDARD 11)
  add_test(NAME ${name}_asan COMMAND ${given_RUNNER} $<TARGET_FILE:${name}_asan>)
  set_tests_properties(${name}_asan PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=${leaks};UBSAN_OPTIONS=print_stacktrace=1")
endfunction()

# That they look at all: a program that forgets an object does not pass.
if(leaks)
  add_sanitized(leak leak.c)
  set_tests_properties(leak_asan PROPERTIES PASS_REGULAR_EXPRESSION "LeakSanitizer: detected memory leaks")
endif()
