#!/usr/bin/env bash
# Tests bindings/swift where there is no Swift: bindings/swift/sid.sh PREFIX [FOLDER]. PREFIX is where the C library is installed. Makes a Debian
# sid with Swift in FOLDER (default: target/sid), which takes minutes and 5 GB, and runs the tests in it. Ends with 77 without root or
# debootstrap. Not part of the checks.
set -euo pipefail
cd "$(dirname "$0")/../.."

prefix=$(realpath "$1")
root=$(realpath -m "${2:-target/sid}")
[ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null || {
  echo "swift: skipped, this takes root and debootstrap"
  exit 77
}
if ! chroot "$root" dpkg --status swiftlang >/dev/null 2>&1; then
  debootstrap --variant=minbase sid "$root"
  chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends swiftlang libc6-dev pkg-config
fi
mkdir -p "$root/source" "$root$prefix" "$root/work"

# What is mounted is gone with the shell.
export root prefix
unshare --mount bash -euo pipefail -c '
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount --bind "$PWD" "$root/source"
  mount --bind "$prefix" "$root$prefix"
  chroot "$root" bash -euo pipefail -c "
    gcc -o /work/example /source/c-tests/example.c -I $prefix/include -L $prefix/lib -lchatparse
    LD_LIBRARY_PATH=$prefix/lib /source/bindings/test.sh swift $prefix /work/example /work/swift"'
