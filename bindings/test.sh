#!/usr/bin/env bash
# test.sh LANGUAGE PREFIX EXAMPLE WORK: the package of a language against the library installed in PREFIX. Its example must print
# what EXAMPLE, the C example, prints. Ends with 77 where the language's tool is missing. WORK is a folder for what is built.
set -euo pipefail
language=$1 prefix=$2 example=$3 work=$4
cd "$(dirname "$0")/$language"
mkdir -p "$work"
export LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}

skip() {
  echo "SKIP: $*"
  exit 77
}

prints_the_same() { diff <("$example") <("$@" 2>&1) && echo "example: prints what the C example prints"; }

case $language in
  python)
    ./test.sh "$prefix" "$work"
    prints_the_same "$work/fresh/bin/python" examples/chat.py
    ;;
  go)
    command -v go >/dev/null || skip "no go"
    # Nothing from the network, nothing written outside of the build.
    export GOCACHE=$work/cache GOPATH=$work/path GOPROXY=off GOTOOLCHAIN=local GOFLAGS=-mod=readonly CGO_ENABLED=1
    go vet ./...
    go build -o "$work/example" ./example
    prints_the_same "$work/example"
    go test ./...
    ;;
  zig)
    if command -v zig >/dev/null; then zig=(zig); else zig=(python3 -m ziglang); fi
    "${zig[@]}" version >/dev/null 2>&1 || skip "no zig"
    export ZIG_LOCAL_CACHE_DIR=$work/cache ZIG_GLOBAL_CACHE_DIR=$work/global
    "${zig[@]}" build install test --prefix "$work/out" -Dprefix="$prefix"
    # It prints to the standard error output.
    prints_the_same "$work/out/bin/example"
    ;;
  swift)
    command -v clang >/dev/null || skip "no clang"
    echo '#pragma clang module import CChatparse
      const char *version(void) { return chat_version(); }' |
      clang -x c -fmodules -fmodules-cache-path="$work/cache" -fmodule-map-file=CChatparse/module.modulemap \
        -I"$prefix/include" -Werror -fsyntax-only -
    ;;
esac
