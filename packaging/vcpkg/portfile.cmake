# Needs a Rust compiler, which vcpkg has not. The crates are in the tarball.
vcpkg_download_distfile(archive URLS "@URL@" FILENAME "chatparse-${VERSION}.tar.gz" SHA512 @SHA512@)
vcpkg_extract_source_archive(source ARCHIVE "${archive}")

# The one that a shell finds: vcpkg's CMake looks in the system's folders first.
find_program(cargo cargo PATHS ENV PATH "$ENV{HOME}/.cargo/bin" "$ENV{USERPROFILE}/.cargo/bin" NO_DEFAULT_PATH REQUIRED)

# A C library without checks of its own: programs of every build type link the same one.
set(VCPKG_BUILD_TYPE release)
vcpkg_cmake_configure(SOURCE_PATH "${source}" OPTIONS "-DCHATPARSE_CARGO=${cargo}")
vcpkg_cmake_install()

if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
  file(GLOB others "${CURRENT_PACKAGES_DIR}/lib/libchatparse.so*" "${CURRENT_PACKAGES_DIR}/lib/*.dylib"
       "${CURRENT_PACKAGES_DIR}/lib/chatparse.dll.lib" "${CURRENT_PACKAGES_DIR}/lib/libchatparse.dll.a" "${CURRENT_PACKAGES_DIR}/bin"
  )
else()
  set(others "${CURRENT_PACKAGES_DIR}/lib/libchatparse.a" "${CURRENT_PACKAGES_DIR}/lib/chatparse.lib")
endif()
file(REMOVE_RECURSE ${others})

vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/chatparse)
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/chatparse/chatparse-config.cmake" "/../../.." "/../..")
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${source}/LICENSE" "${source}/LICENCES.txt")
