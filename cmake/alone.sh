#!/bin/sh
# alone.sh LIBCHATPARSE.A [OBJCOPY [NM]]: every name that the static library defines, but the functions of chatparse.h, gets the suffix
# ".chatparse". A program may then link another static library of Rust's, of any compiler: both bring Rust's standard library, some of
# it under the same names. For ELF systems.
set -eu
objcopy=${2:-objcopy} nm=${3:-nm}
names=$(mktemp)
trap 'rm -f "$names"' EXIT
# What link-time optimisation would use says the old names, and tools that are older than the compiler cannot read it.
"$objcopy" --remove-section=.llvmbc --remove-section=.llvmcmd "$1"
"$nm" --defined-only --extern-only --format=posix "$1" |
  awk 'NF > 1 && $1 !~ /^chat_|\.chatparse$/ && !seen[$1]++ { print $1, $1 ".chatparse" }' >"$names"
"$objcopy" --redefine-syms="$names" "$1"
