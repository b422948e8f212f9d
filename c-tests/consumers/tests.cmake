# The ways to come to the library, each by a project of its own. Those that start from the source share what cargo has compiled.
set(CHATPARSE_CARGO_TARGET_DIR "" CACHE PATH "Where cargo has built the installed library, with CHATPARSE_PARTS; empty: it is built anew")
list(JOIN CHATPARSE_PARTS "\\;" parts)
set(built "")
if(ALL)
  set(built subdirectory subdirectory_ninja fetch_content)
endif()
foreach(
  way
  find_package component_shared component_static component_both component_unknown only_shared only_static wrong_version
  pkgconfig pkgconfig_static
  ${built} program no_cargo
)
  add_test(
    NAME consumer_${way}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/test.sh ${way} ${prefix} ${chatparse_VERSION} ${CMAKE_CURRENT_BINARY_DIR}/consumers/${way}
  )
  set_tests_properties(consumer_${way} PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "CC=${CMAKE_C_COMPILER};CARGO_BUILT=${CHATPARSE_CARGO_TARGET_DIR};PARTS=${parts}")
endforeach()
if(ALL)
  list(TRANSFORM built PREPEND consumer_)
  set_tests_properties(${built} PROPERTIES RESOURCE_LOCK cargo COST 100)
  set_tests_properties(consumer_subdirectory_ninja PROPERTIES LABELS long)
endif()
