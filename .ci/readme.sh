#!/usr/bin/env bash
# readme.sh [DOCUMENT...]: does what the documents tell their readers to type, in a fresh clone of what is committed, and compares what
# they say is printed. /usr/local, /etc and the home folder are throw-away copies (Linux, as root). TARGET names a folder where cargo
# builds, to be used again. Ends with 77 where there can be no such copies.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" != --inside ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  git clone --quiet . "$work/chatparse"
  if ! unshare --mount true 2>/dev/null; then
    echo "SKIP: no mounts of its own"
    exit 77
  fi
  unshare --mount "$0" --inside "$work" "$@"
  exit
fi

work=$2
shift 2
for folder in usr/local etc; do
  layer=$work/layers/${folder//\//-}
  mkdir -p "$layer/upper" "$layer/work"
  mount -t overlay overlay -o "lowerdir=/$folder,upperdir=$layer/upper,workdir=$layer/work" "/$folder"
done
# Other installations of the library would hide what an installation lacks.
rm -rf /usr/local/lib/libchatparse* /usr/local/include/chatparse*
export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
# Zig, where .ci/setup.sh puts it.
for zig in "${XDG_CACHE_HOME:-$HOME/.cache}"/chatparse/zig-*/bin/python; do
  [ ! -x "$zig" ] || ln -sf "$(dirname "$zig")"/../lib/python*/site-packages/ziglang/zig /usr/local/bin/zig
done
export HOME=$work/home CARGO_INSTALL_ROOT=/usr/local PATH=/usr/local/bin:$PATH
[ -z "${TARGET:-}" ] || export CARGO_TARGET_DIR=$TARGET
mkdir "$HOME"
python3 .ci/readme.py "$work/chatparse" "$@"
