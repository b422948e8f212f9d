# chatparse.hpp and examples/chat.cpp: in this build, with valgrind and the sanitizers, and by the compilers and standards that there are.
set(programs ${CMAKE_CURRENT_LIST_DIR}/main.cpp ${CMAKE_CURRENT_LIST_DIR}/returning.cpp)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/returning.cpp PROPERTIES COMPILE_OPTIONS -fno-exceptions)
add_executable(hpp ${programs})
target_link_libraries(hpp PRIVATE chatparse::chatparse)
add_test(NAME hpp COMMAND hpp)
add_sanitized(hpp ${programs})
if(conversation)
  add_executable(hpp_conversation ${CMAKE_CURRENT_LIST_DIR}/conversation.cpp)
  target_link_libraries(hpp_conversation PRIVATE chatparse::chatparse)
  add_test(NAME hpp_conversation COMMAND hpp_conversation)
  add_sanitized(hpp_conversation ${CMAKE_CURRENT_LIST_DIR}/conversation.cpp)
endif()
foreach(target hpp hpp_asan hpp_conversation hpp_conversation_asan)
  if(TARGET ${target})
    # Our header's warnings are ours.
    set_target_properties(${target} PROPERTIES CXX_STANDARD 17 NO_SYSTEM_FROM_IMPORTED ON)
  endif()
endforeach()
if(VALGRIND)
  add_test(
    NAME hpp_valgrind
    COMMAND ${VALGRIND} --quiet --leak-check=full --error-exitcode=9 --suppressions=${CMAKE_CURRENT_LIST_DIR}/../valgrind.supp
            $<TARGET_FILE:hpp>
  )
endif()

if(NOT ALL)
  return()
endif()
foreach(compiler g++ clang++)
  foreach(standard 17 23)
    add_test(
      NAME hpp_${compiler}_${standard}
      COMMAND ${CMAKE_CURRENT_LIST_DIR}/test.sh ${compiler} ${standard} ${prefix} ${CMAKE_CURRENT_BINARY_DIR}/hpp_${compiler}_${standard}
    )
    set_tests_properties(hpp_${compiler}_${standard} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endforeach()
