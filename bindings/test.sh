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
    # As a module of somebody else's has it.
    path=$(go list -m)
    rm -rf "$work/user"
    mkdir "$work/user"
    cp example/main.go "$work/user"
    printf 'module user\n\ngo 1.19\n\nrequire %s v0.0.0\nreplace %s => %s\n' "$path" "$path" "$PWD" >"$work/user/go.mod"
    (cd "$work/user" && go build -o "$work/used" .)
    prints_the_same "$work/used"
    ;;
  zig)
    zig=(zig)
    # Where .ci/setup.sh puts it.
    command -v zig >/dev/null || zig=("$(echo "${XDG_CACHE_HOME:-$HOME/.cache}"/chatparse/zig-*/bin/python)" -m ziglang)
    "${zig[@]}" version >/dev/null 2>&1 || skip "no zig"
    export ZIG_LOCAL_CACHE_DIR=$work/cache ZIG_GLOBAL_CACHE_DIR=$work/global
    "${zig[@]}" build install test --prefix "$work/out" -Dprefix="$prefix"
    # It prints to the standard error output.
    prints_the_same "$work/out/bin/example"
    # As a package that was fetched, of somebody else's program.
    hash=$("${zig[@]}" fetch .)
    rm -rf "$work/user"
    mkdir "$work/user"
    cp example.zig "$work/user/main.zig"
    cat >"$work/user/build.zig.zon" <<END
.{
    .name = .user,
    .version = "0.0.0",
    .fingerprint = 0x8d93d6497c2f1f3b,
    .dependencies = .{ .chatparse = .{ .url = "file:///nowhere.tar", .hash = "$hash" } },
    .paths = .{""},
}
END
    cat >"$work/user/build.zig" <<END
const std = @import("std");

pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const chatparse = b.dependency("chatparse", .{ .target = target, .prefix = @as([]const u8, "$prefix") });
    const program = b.addExecutable(.{ .name = "user", .root_module = b.createModule(.{
        .root_source_file = b.path("main.zig"),
        .target = target,
        .imports = &.{.{ .name = "chatparse", .module = chatparse.module("chatparse") }},
    }) });
    b.installArtifact(program);
}
END
    (cd "$work/user" && "${zig[@]}" build --prefix "$work/used")
    prints_the_same "$work/used/bin/user"
    ;;
  swift)
    if ! command -v swift >/dev/null; then
      command -v clang >/dev/null || skip "no swift"
      echo '#pragma clang module import CChatparse
        const char *version(void) { return chat_version(); }' |
        clang -x c -fmodules -fmodules-cache-path="$work/cache" -fmodule-map-file=Sources/CChatparse/module.modulemap \
          -I"$prefix/include" -Werror -fsyntax-only -
      echo "no swift: the module map was checked, the package was not compiled"
      exit 0
    fi
    swift build --scratch-path "$work/build"
    prints_the_same "$work/build/debug/Example"
    # Swift from Debian lacks the library that Testing asks for beside Foundation, which XCTest imports; no test here needs it.
    swift test --disable-xctest --scratch-path "$work/test" -Xswiftc -Xfrontend -Xswiftc -disable-cross-import-overlays
    # As somebody else's package has it.
    rm -rf "$work/user"
    mkdir -p "$work/user/Sources/User"
    cp Sources/Example/main.swift "$work/user/Sources/User"
    cat >"$work/user/Package.swift" <<END
// swift-tools-version:6.0
import PackageDescription

let package = Package(
  name: "user", platforms: [.macOS(.v15)], dependencies: [.package(name: "chatparse", path: "$PWD")],
  targets: [.executableTarget(name: "User", dependencies: [.product(name: "Chatparse", package: "chatparse")])]
)
END
    swift build --package-path "$work/user" --scratch-path "$work/used"
    prints_the_same "$work/used/debug/User"
    ;;
esac
