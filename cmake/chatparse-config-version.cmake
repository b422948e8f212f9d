# A 0.y release may break the one before it; from 1.0 on only a new major version does. The SONAME follows the same rule.
set(PACKAGE_VERSION "0.1.0")

string(REGEX MATCH "^([0-9]+)\\.([0-9]+)" _chatparse_unused "${PACKAGE_VERSION}")
set(_chatparse_major "${CMAKE_MATCH_1}")
set(_chatparse_minor "${CMAKE_MATCH_2}")

set(PACKAGE_VERSION_COMPATIBLE FALSE)
set(PACKAGE_VERSION_EXACT FALSE)
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  set(PACKAGE_VERSION_EXACT TRUE)
elseif(PACKAGE_FIND_VERSION VERSION_LESS PACKAGE_VERSION AND PACKAGE_FIND_VERSION_MAJOR EQUAL _chatparse_major)
  if(_chatparse_major GREATER 0 OR PACKAGE_FIND_VERSION_COUNT LESS 2 OR PACKAGE_FIND_VERSION_MINOR EQUAL _chatparse_minor)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
endif()

unset(_chatparse_unused)
unset(_chatparse_major)
unset(_chatparse_minor)
