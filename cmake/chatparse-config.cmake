# find_package(chatparse 0.1) gives
#   chatparse::chatparse         the library: shared where it is installed, else static
#   chatparse::chatparse_shared  the shared library, where it is installed
#   chatparse::chatparse_static  the static library, where it is installed
#   chatparse::llama             chatparse::chatparse, and headers that stand in for llama.cpp's chat layer (LLAMA.md)
# COMPONENTS shared, static: the package is found only where these are installed. With `static` alone, chatparse::chatparse is the
# static library.

if(CMAKE_VERSION VERSION_LESS 3.21)
  set(chatparse_FOUND FALSE)
  set(chatparse_NOT_FOUND_MESSAGE "chatparse needs CMake 3.21")
  return()
endif()

# This file is in <prefix>/share/cmake/chatparse.
get_filename_component(_chatparse_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(_chatparse_lib_dirs lib lib64)
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(APPEND _chatparse_lib_dirs "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
endif()
list(TRANSFORM _chatparse_lib_dirs PREPEND "${_chatparse_prefix}/")

# A variable that is set would not be looked for again.
unset(_chatparse_include)
unset(_chatparse_shared)
unset(_chatparse_static)
unset(_chatparse_import)
# The prefix is known, also where a toolchain file sends all searches elsewhere.
set(_chatparse_here NO_DEFAULT_PATH NO_CACHE NO_CMAKE_FIND_ROOT_PATH)
find_path(_chatparse_include chatparse.h PATHS "${_chatparse_prefix}/include" ${_chatparse_here})
if(WIN32)
  find_file(_chatparse_shared chatparse.dll PATHS "${_chatparse_prefix}/bin" ${_chatparse_here})
  find_file(_chatparse_import NAMES libchatparse.dll.a chatparse.dll.lib PATHS ${_chatparse_lib_dirs} ${_chatparse_here})
  if(NOT _chatparse_import)
    set(_chatparse_shared NOTFOUND)
  endif()
else()
  find_library(
    _chatparse_shared
    NAMES "${CMAKE_SHARED_LIBRARY_PREFIX}chatparse${CMAKE_SHARED_LIBRARY_SUFFIX}"
    PATHS ${_chatparse_lib_dirs} ${_chatparse_here}
  )
endif()
find_library(
  _chatparse_static
  NAMES "${CMAKE_STATIC_LIBRARY_PREFIX}chatparse${CMAKE_STATIC_LIBRARY_SUFFIX}"
  PATHS ${_chatparse_lib_dirs} ${_chatparse_here}
)

if(NOT _chatparse_include OR NOT (_chatparse_shared OR _chatparse_static))
  set(chatparse_FOUND FALSE)
  set(chatparse_NOT_FOUND_MESSAGE "no chatparse.h and library below ${_chatparse_prefix}")
  return()
endif()

set(chatparse_shared_FOUND FALSE)
set(chatparse_static_FOUND FALSE)
if(_chatparse_shared)
  set(chatparse_shared_FOUND TRUE)
endif()
if(_chatparse_static)
  set(chatparse_static_FOUND TRUE)
endif()
foreach(_chatparse_component IN LISTS chatparse_FIND_COMPONENTS)
  if(chatparse_FIND_REQUIRED_${_chatparse_component} AND NOT chatparse_${_chatparse_component}_FOUND)
    set(chatparse_FOUND FALSE)
    if(_chatparse_component MATCHES "^(shared|static)$")
      set(chatparse_NOT_FOUND_MESSAGE "no ${_chatparse_component} library of chatparse below ${_chatparse_prefix}")
    else()
      set(chatparse_NOT_FOUND_MESSAGE "chatparse has no component \"${_chatparse_component}\", only shared and static")
    endif()
    return()
  endif()
endforeach()

# Asked for before, or built from source in this project.
if(TARGET chatparse::chatparse)
  return()
endif()

if(_chatparse_shared)
  add_library(chatparse::chatparse_shared SHARED IMPORTED)
  set_target_properties(
    chatparse::chatparse_shared
    PROPERTIES IMPORTED_LOCATION "${_chatparse_shared}" INTERFACE_INCLUDE_DIRECTORIES "${_chatparse_include}"
  )
  if(_chatparse_import)
    set_target_properties(chatparse::chatparse_shared PROPERTIES IMPORTED_IMPLIB "${_chatparse_import}")
  endif()
endif()

if(_chatparse_static)
  add_library(chatparse::chatparse_static STATIC IMPORTED)
  set_target_properties(
    chatparse::chatparse_static
    PROPERTIES IMPORTED_LOCATION "${_chatparse_static}" INTERFACE_INCLUDE_DIRECTORIES "${_chatparse_include}"
  )
  # The system libraries that a static library needs are the compiler's to know: it has written them beside the library.
  get_filename_component(_chatparse_pc "${_chatparse_static}" DIRECTORY)
  string(APPEND _chatparse_pc "/pkgconfig/chatparse.pc")
  if(EXISTS "${_chatparse_pc}")
    file(STRINGS "${_chatparse_pc}" _chatparse_private REGEX "^Libs.private:")
    string(REGEX REPLACE "^Libs.private:" "" _chatparse_private "${_chatparse_private}")
    separate_arguments(_chatparse_private UNIX_COMMAND "${_chatparse_private}")
    set_target_properties(chatparse::chatparse_static PROPERTIES INTERFACE_LINK_LIBRARIES "${_chatparse_private}")
  endif()
endif()

add_library(chatparse::chatparse INTERFACE IMPORTED)
if(_chatparse_shared AND NOT "${chatparse_FIND_COMPONENTS}" STREQUAL "static")
  set_target_properties(chatparse::chatparse PROPERTIES INTERFACE_LINK_LIBRARIES chatparse::chatparse_shared)
else()
  set_target_properties(chatparse::chatparse PROPERTIES INTERFACE_LINK_LIBRARIES chatparse::chatparse_static)
endif()

add_library(chatparse::llama INTERFACE IMPORTED)
set_target_properties(
  chatparse::llama
  PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_chatparse_include}/chatparse/llama" INTERFACE_LINK_LIBRARIES chatparse::chatparse
             INTERFACE_COMPILE_FEATURES cxx_std_17
)
