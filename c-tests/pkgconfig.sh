#!/usr/bin/env bash
# pkgconfig.sh PREFIX CC: the example builds and runs with what pkg-config says, linked either way.
set -euo pipefail
prefix=$1 cc=$2
source=$(dirname "$0")/example.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig

# Word splitting is what pkg-config's output is for.
# shellcheck disable=SC2046
"$cc" "$source" -o "$work/shared" $(pkg-config --cflags --libs chatparse) -Wl,-rpath,"$prefix/lib"
"$work/shared"

mkdir "$work/lib"
cp "$prefix/lib/libchatparse.a" "$work/lib"
# shellcheck disable=SC2046
"$cc" "$source" -o "$work/static" $(pkg-config --cflags chatparse) -L"$work/lib" $(pkg-config --static --libs-only-l chatparse)
"$work/static"
