#!/usr/bin/env bash
# Tests the release that packaging/release.sh has made in FOLDER: packaging/test.sh FOLDER. Without a network, crates of its own or
# cbindgen, CMake builds and installs the tarball, and projects that find the install, or fetch the tarball, link and run.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath "$1")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home"

# The tools of the compiler itself, without what cargo has installed.
offline() {
  unshare -rn env -i PATH="$(rustc --print sysroot)/bin:/usr/local/bin:/usr/bin:/bin" HOME="$work/home" CARGO_HOME="$work/home" "$@"
}
# quietly COMMAND...: says what the command said where it fails.
quietly() { "$@" >"$work/said" 2>&1 || { cat "$work/said" >&2 && return 1; }; }

! offline sh -c 'command -v cbindgen' || { echo "cbindgen is in the way: the release has to build without it" >&2 && exit 1; }
tar -xzf "$out/chatparse-$version.tar.gz" -C "$work"
source=$work/chatparse-$version

# Nothing is optimised: that would take most of the time.
quietly offline cmake -S "$source" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_INSTALL_PREFIX="$work/prefix" \
  -DCHATPARSE_CARGO_TARGET_DIR="$work/cargo"
quietly offline cmake --build "$work/build"
quietly offline cmake --install "$work/build"
for way in find_package pkgconfig pkgconfig_static; do
  quietly offline "$source/c-tests/consumers/test.sh" "$way" "$work/prefix" "$version" "$work/$way"
done
echo "The tarball is built and installed without a network, and found by find_package and pkg-config"
quietly offline "$source/c-tests/consumers/test.sh" tarball "$out/chatparse-$version.tar.gz" "$version" "$work/tarball"
echo "A project that fetches the tarball builds it without a network"

# documents FOLDER: the page has its module inside, and the board has each of our templates.
documents() {
  grep -q 'id="wasm">H4sI' "$1/page.html"
  for template in templates/*.jinja; do grep -q ">$(basename "$template" .jinja)<" "$1/templates.html"; done
}

# consume WAY PREFIX: as a project does that uses what is installed there.
consume() { quietly c-tests/consumers/test.sh "$1" "$2" "$version" "$work/consumer"; }

name=chatparse-$version-$(rustc -vV | sed -n 's/^host: //p')
tar -xJf "$out/$name.tar.xz" -C "$work"
for way in find_package component_static pkgconfig pkgconfig_static; do consume "$way" "$work/$name"; done
"$work/$name/bin/chatparse" --version
documents "$work/$name/share/doc/chatparse"
cmp "$out/chatparse-$version.html" "$work/$name/share/doc/chatparse/page.html"
echo "The prebuilt archive is found where it is unpacked, its program runs, and the page and the board are in it"

# A system that has nothing but what the packages say they need.
root=$work/root
mkdir -p "$root"/var/lib/dpkg/{info,updates}
dpkg-query --status libc6 libgcc-s1 >"$root/var/lib/dpkg/status"
debs=("$out"/{libchatparse,chatparse_}*.deb)
quietly unshare -r dpkg --root="$root" --install "${debs[@]}"
consume find_package "$root/usr"
PKG_CONFIG_PATH=$(dirname "$root"/usr/lib/*/pkgconfig/chatparse.pc) quietly pkg-config --exact-version="$version" chatparse
"$root/usr/bin/chatparse" --version
documents "$root/usr/share/doc/chatparse"
quietly unshare -r dpkg --root="$root" --purge chatparse libchatparse-dev "libchatparse${version%.*}"
[ -z "$(find "$root" -path "$root/usr/*" -type f)" ] || { echo "the packages leave files behind" >&2 && exit 1; }
echo "The Debian packages are installed, found, run and removed"
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error "${debs[@]}"
else
  echo "No lintian: the Debian packages are not checked by it."
fi
