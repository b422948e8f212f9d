#!/usr/bin/env bash
# readme.sh [DOCUMENT...]: does what the documents tell their readers to type, in a fresh copy of what is committed, and compares what
# they say is printed. /usr/local, /etc and the home folder are throw-away copies, too (Linux, as root). With WARM set, what is built in
# target is not built again: for a clean checkout. Ends with 77 where there can be no such copies.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" != --inside ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  git archive --prefix=copy/ HEAD | tar -x -C "$work"
  if [ -n "${WARM:-}" ]; then
    # A file has the time of the one that it is a copy of, so cargo takes what was built of that; what is not as committed is new.
    git ls-files -z | while IFS= read -r -d '' file; do
      [ -f "$work/copy/$file" ] || continue
      if cmp -s "$file" "$work/copy/$file"; then touch -r "$file" "$work/copy/$file"; else touch "$work/copy/$file"; fi
    done
  fi
  mkdir -p "$work/copy/target" target
  if ! unshare --mount true 2>/dev/null; then
    echo "SKIP: no mounts of its own"
    exit 77
  fi
  unshare --mount "$work/copy/judges/documents.sh" --inside "$work" "$PWD" "$@"
  exit
fi

work=$2 checkout=$3
shift 3
for folder in usr/local etc; do
  layer=$work/layers/${folder//\//-}
  mkdir -p "$layer/upper" "$layer/work"
  mount -t overlay overlay -o "lowerdir=/$folder,upperdir=$layer/upper,workdir=$layer/work" "/$folder"
done
# Another installation would hide what ours lacks.
rm -rf /usr/local/lib/libchatparse* /usr/local/include/chatparse*
# Zig, where .ci/setup.sh puts it.
for zig in "${XDG_CACHE_HOME:-$HOME/.cache}"/chatparse/zig-*/bin/python; do
  [ ! -x "$zig" ] || ln -sf "$(dirname "$zig")"/../lib/python*/site-packages/ziglang/zig /usr/local/bin/zig
done

export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
# npm's settings are the reader's own, too.
export NPM_CONFIG_USERCONFIG=${NPM_CONFIG_USERCONFIG:-$HOME/.npmrc}
export HOME=$work/home CARGO_INSTALL_ROOT=/usr/local PATH=/usr/local/bin:$PATH
mkdir "$HOME"
if [ -n "${WARM:-}" ]; then
  # At the place of the checkout, as cargo knows a package by its folder.
  mount --bind "$checkout/target" "$work/copy/target"
  mount --rbind "$work/copy" "$checkout"
  cd "$checkout"
else
  cd "$work/copy"
fi
python3 judges/documents.py "$PWD" "$@"
