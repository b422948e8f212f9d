#!/usr/bin/env bash
# Makes the release of what is committed: packaging/release.sh [FOLDER]. docs/packaging.md says what it holds. The same commit gives the same
# bytes. The Conan recipe and the vcpkg port fetch the tarball from URL, which is the tarball in FOLDER if it is not set.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath -m "${1:-target/release-source}")
name=chatparse-$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
time=$(git log -1 --format=%ct)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$out"
git archive --prefix="$name/" HEAD | tar -x -C "$work"
# The page, of a copy of its own: what is built for it is no source, and the standard library's crates are not among those below.
cp -a "$work/$name" "$work/page"
(cd "$work/page" && CARGO_TARGET_DIR=$work/wasm node web/build.mjs "$out/$name.html")
cd "$work/$name"
mkdir .cargo
cargo vendor --locked --versioned-dirs vendor >"$work/config" 2>"$work/said" || { cat "$work/said" >&2 && exit 1; }
mv "$work/config" .cargo/config.toml
python3 packaging/materials.py LICENCES.txt chatparse.cdx.json
cd ..

tar --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --mode=go=rX -c "$name" | gzip -9n >"$out/$name.tar.gz"
cp "$name/LICENCES.txt" "$name/chatparse.cdx.json" "$out"

rm -rf "$out"/{conan,vcpkg}
cp -r "$name"/packaging/{conan,vcpkg} "$out"
sum() { "$1" "$out/$name.tar.gz" | cut -d ' ' -f 1; }
sed -i "s|@URL@|${URL:-file://$out/$name.tar.gz}|; s|@VERSION@|${name#*-}|; s|@SHA256@|$(sum sha256sum)|; s|@SHA512@|$(sum sha512sum)|" \
  "$out"/{conan/conanfile.py,vcpkg/portfile.cmake,vcpkg/vcpkg.json}

"$name/packaging/prebuilt.sh" "$out"
"$name/packaging/debs.sh" "$out"
cd "$out" && sha256sum "$name"* ./*.deb LICENCES.txt chatparse.cdx.json
