#!/usr/bin/env bash
# test.sh WAY PREFIX VERSION WORK: a program that uses chatparse in one of the ways there are is built, prints what example.txt
# says, and is linked as it was asked. PREFIX is where the library of that VERSION is installed, and for the way "tarball" the source
# release to fetch; the other ways that start from the source use the tree that this file is in. WORK is a folder for what is built;
# the folder beside it, "cargo", is shared. CARGO_BUILT is where cargo has built the library with PARTS already, if it has.
set -euo pipefail
way=$1 prefix=$2 version=$3 work=$4
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
cc=${CC:-cc}
rm -rf "$work"
mkdir -p "$work"

fail() {
  echo "$*" >&2
  exit 1
}
skip() {
  echo "SKIP: $*"
  exit 77
}

# runs PROGRAM shared|static
runs() {
  diff "$here/example.txt" <("$1") || fail "$1 does not print example.txt"
  case $2,$(readelf -d "$1") in
    shared,*NEEDED*libchatparse.so.*) echo "${1##*/}: shared" ;;
    static,*libchatparse.so*) fail "$1 needs the shared library" ;;
    static,*) echo "${1##*/}: static" ;;
    *) fail "$1 does not need the shared library" ;;
  esac
}

configure() { cmake -S "$here" -B "$work" -DCMAKE_C_COMPILER="$cc" "$@"; }

# finds PREFIX FIND LIBRARY=KIND...
finds() {
  local from=$1 find=$2 libraries=
  shift 2
  for library in "$@"; do libraries+="${library%=*};"; done
  configure -DCMAKE_PREFIX_PATH="$from" "-DFIND=${find// /;}" -DLIBRARIES="${libraries%;}"
  cmake --build "$work"
  for library in "$@"; do runs "$work/uses_${library%=*}" "${library#*=}"; done
}

# refuses PREFIX FIND MESSAGE
refuses() {
  ! configure -DCMAKE_PREFIX_PATH="$1" "-DFIND=${2// /;}" >"$work/said" 2>&1 || fail "find_package(chatparse $2) was satisfied"
  # CMake breaks lines where it likes.
  tr -s ' \n' ' ' <"$work/said" | grep -F "$3" || fail "$(cat "$work/said")" "without: $3"
}

# from_source GENERATOR BUILD_TYPE WAY ARGUMENT
from_source() {
  command -v cargo >/dev/null || skip "no cargo"
  local built=("-DCHATPARSE_CARGO_TARGET_DIR=$(dirname "$work")/cargo")
  if [ -n "${CARGO_BUILT:-}" ]; then
    built=("-DCHATPARSE_CARGO_TARGET_DIR=$CARGO_BUILT" "-DCHATPARSE_PARTS=$PARTS")
  else
    # Nothing is optimised: that would take most of the time.
    export CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_LTO=off
  fi
  configure -G "$1" -DCMAKE_BUILD_TYPE="$2" -DWAY="$3" "$4" -DLIBRARIES="chatparse;chatparse_shared;chatparse_static" "${built[@]}"
  cmake --build "$work" --parallel 2
  runs "$work/uses_chatparse" shared
  runs "$work/uses_chatparse_shared" shared
  runs "$work/uses_chatparse_static" static
  local library
  library=$(find "$work" -name 'libchatparse.so.*')
  "$here/../soname.sh" "$library" "$version"
  "$here/../exports.sh" "$library"
  # What is up to date stays as it is.
  touch "$work/then"
  cmake --build "$work"
  [ -z "$(find "$work" -name 'uses_*' -type f -perm -u+x -newer "$work/then")" ] || fail "linked again without need"
}

# Word splitting is what pkg-config's output is for.
# shellcheck disable=SC2046
with_pkgconfig() {
  local program=$1
  shift
  "$cc" "$here/../example.c" -o "$program" $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config "$@" chatparse) -Wl,-rpath,"$prefix/lib"
}

# A copy of the installed tree, elsewhere, without some of its libraries.
copy_without() {
  mkdir "$work/copy"
  cp -R "$prefix/." "$work/copy"
  rm "$work/copy/lib/"$1
}

case $way in
  find_package)
    finds "$prefix" "$version REQUIRED" chatparse=shared chatparse_shared=shared chatparse_static=static
    ;;
  component_shared) finds "$prefix" "${version%.*} REQUIRED COMPONENTS shared" chatparse=shared chatparse_shared=shared ;;
  component_static) finds "$prefix" "${version%.*} REQUIRED COMPONENTS static" chatparse=static chatparse_static=static ;;
  component_both)
    finds "$prefix" "REQUIRED COMPONENTS static shared" chatparse=shared chatparse_shared=shared chatparse_static=static
    ;;
  component_unknown)
    refuses "$prefix" "REQUIRED COMPONENTS shared python" 'chatparse has no component "python", only shared and static'
    ;;
  only_shared)
    copy_without '*.a'
    refuses "$work/copy" "REQUIRED COMPONENTS static" "no static library of chatparse below"
    finds "$work/copy" "REQUIRED COMPONENTS shared OPTIONAL_COMPONENTS static" chatparse=shared
    ;;
  only_static)
    copy_without '*.so*'
    refuses "$work/copy" "REQUIRED COMPONENTS shared" "no shared library of chatparse below"
    finds "$work/copy" REQUIRED chatparse=static
    ;;
  wrong_version)
    for other in 99.0 "$version.1" "0.0"; do
      refuses "$prefix" "$other REQUIRED" "compatible with requested version \"$other\""
    done
    ;;
  pkgconfig)
    with_pkgconfig "$work/shared" --cflags --libs
    runs "$work/shared" shared
    ;;
  pkgconfig_static)
    # Where both libraries are, linkers take the shared one.
    mkdir "$work/lib"
    cp "$prefix/lib/libchatparse.a" "$work/lib"
    with_pkgconfig "$work/static" --define-variable=libdir="$work/lib" --static --cflags --libs
    runs "$work/static" static
    ;;
  subdirectory) from_source "Unix Makefiles" Release subdirectory -DCHATPARSE_SOURCE="$source" ;;
  subdirectory_ninja)
    command -v ninja >/dev/null || skip "no ninja"
    from_source Ninja Debug subdirectory -DCHATPARSE_SOURCE="$source"
    ;;
  fetch_content) from_source "Unix Makefiles" "" fetch_content -DFETCHCONTENT_SOURCE_DIR_CHATPARSE="$source" ;;
  tarball) from_source "Unix Makefiles" Debug fetch_content -DCHATPARSE_URL="$prefix" ;;
  program)
    command -v cargo >/dev/null || skip "no cargo"
    # Who asks for it has cargo compile the library twice.
    for asked in OFF ON; do
      option=()
      [ $asked = OFF ] || option=(-DCHATPARSE_PROGRAM=ON)
      cmake -S "$source" -B "$work/$asked" -DCMAKE_C_COMPILER="$cc" "${option[@]}" >"$work/said"
      cmake --build "$work/$asked" --target help >"$work/targets"
      grep -q chatparse_cargo "$work/targets" || fail "no library with CHATPARSE_PROGRAM $asked"
      case $asked,$(grep -c chatparse_program "$work/targets") in
        OFF,0 | ON,[1-9]) ;;
        *) fail "CHATPARSE_PROGRAM is $asked, but the targets are: $(cat "$work/targets")" ;;
      esac
    done
    ;;
  no_cargo)
    ! configure -DWAY=subdirectory -DCHATPARSE_SOURCE="$source" -DCHATPARSE_CARGO= >"$work/said" 2>&1 || fail "built without cargo?"
    tr -s ' \n' ' ' <"$work/said" | grep -F "chatparse is compiled by cargo, and there is none. Install Rust"
    ;;
  *) fail "no such way: $way" ;;
esac
