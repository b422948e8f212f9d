#!/usr/bin/env bash
# Makes the prebuilt archive of the source release in FOLDER, for this machine's system, with the page that is there:
# packaging/prebuilt.sh FOLDER. The same tarball, compiler and tools give the same bytes, wherever it is built. BUILD_TYPE=Debug tries the script in a fraction of the time.
set -euo pipefail
umask 022
export LC_ALL=C

out=$(realpath "$1")
release=chatparse-$(sed -n 's/^version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml" | head -n 1)
work=$(realpath "$(mktemp -d)")
trap 'rm -rf "$work"' EXIT
tar -xzf "$out/$release.tar.gz" -C "$work"
source=$work/$release
target=$(rustc -vV | sed -n 's/^host: //p')
sysroot=$(rustc --print sysroot)
name=$release-$target
tree=$work/$name
type=${BUILD_TYPE:-Release}

# What panics say is where a source was: here, and in the compiler's standard library.
library=/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')
# A folder's name may have a space.
CARGO_ENCODED_RUSTFLAGS=$(printf '%s\x1f%s' "--remap-path-prefix=$work=/build" "--remap-path-prefix=$sysroot/lib/rustlib/src/rust=$library")
export CARGO_ENCODED_RUSTFLAGS

cmake -S "$source" -B "$work/cmake" -DCMAKE_BUILD_TYPE="$type" -DCMAKE_INSTALL_PREFIX="$tree" -DCMAKE_INSTALL_LIBDIR=lib \
  -DCHATPARSE_CARGO_TARGET_DIR="$work/cargo" -DCHATPARSE_PROGRAM=ON >"$work/said"
cmake --build "$work/cmake"
cmake --install "$work/cmake" >>"$work/said"
strip --strip-unneeded "$tree/bin/chatparse" "$tree"/lib/libchatparse.so.*
strip --strip-debug "$tree/lib/libchatparse.a"
# The compiler names the members at random, in an order that stays.
mkdir "$work/members"
(
  cd "$work/members" && ar x "$tree/lib/libchatparse.a"
  number=10000 numbered=()
  for member in $(ar t "$tree/lib/libchatparse.a"); do
    number=$((number + 1))
    mv "$member" "$number.o"
    numbered+=("$number.o")
  done
  rm "$tree/lib/libchatparse.a"
  ar rcsD "$tree/lib/libchatparse.a" "${numbered[@]}"
)
# The tree may be put anywhere.
sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|' "$tree/lib/pkgconfig/chatparse.pc"
install -m 644 "$out/$release.html" "$tree/share/doc/chatparse/page.html"
"$tree/bin/chatparse" board "$source/templates" >"$tree/share/doc/chatparse/templates.html"
install -m 644 -t "$tree/share/doc/chatparse" "$source"/{LICENSE,LICENCES.txt,chatparse.cdx.json,CHANGELOG.md}

! grep -rlF -e "$work" -e "$sysroot" "$tree" || { echo "these say where they were built" >&2 && exit 1; }
tar --sort=name --mtime="@$(stat -c %Y "$source/Cargo.toml")" --owner=0 --group=0 --numeric-owner --mode=go=rX -C "$work" -c "$name" |
  xz -9 >"$out/$name.tar.xz"
