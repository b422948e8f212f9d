# The example servers, driven by the Python clients of the APIs that they speak: that in Rust by all, that in C++ for a look, where its libraries
# are. Skipped where the clients are missing.
find_path(HTTPLIB httplib.h)
find_path(NLOHMANN_JSON nlohmann/json.hpp)
# Debian compiles what is otherwise a header.
find_library(HTTPLIB_LIBRARY cpp-httplib)
set(server)
if(HTTPLIB AND NLOHMANN_JSON)
  add_executable(server ../examples/server.cpp)
  target_include_directories(server SYSTEM PRIVATE ${HTTPLIB} ${NLOHMANN_JSON})
  target_link_libraries(server PRIVATE chatparse::chatparse_shared Threads::Threads)
  if(HTTPLIB_LIBRARY)
    target_link_libraries(server PRIVATE ${HTTPLIB_LIBRARY})
  endif()
  set_target_properties(server PROPERTIES CXX_STANDARD 17)
  set(server $<TARGET_FILE:server>)
endif()
add_test(NAME server COMMAND ${CMAKE_CURRENT_LIST_DIR}/test.sh ${CMAKE_CURRENT_BINARY_DIR}/clients ${server})
# It installs the clients, and begins first.
set_tests_properties(server PROPERTIES SKIP_RETURN_CODE 77 COST 100)
