#!/usr/bin/env bash
# soname.sh LIBRARY VERSION: the shared library's SONAME follows its version as the README says, and it needs nothing but C.
set -euo pipefail
IFS=. read -r major minor _ <<<"$2"
abi=$major
[ "$major" -ne 0 ] || abi=0.$minor
dynamic=$(readelf -d "$1")
diff <(echo "libchatparse.so.$abi") <(sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p' <<<"$dynamic")
needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic")
if others=$(grep -vE '^(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux.*)\.so\.[0-9]+$' <<<"$needed"); then
  echo "needs more than C: $others" >&2
  exit 1
fi
