#!/usr/bin/env bash
# Makes the release of what is committed: .ci/release.sh [FOLDER]. The tarball has all crates, so CMake builds and installs it with a Rust
# compiler and no network; beside it lie an archive that is built of it, Debian packages, the licences of all crates and a bill of materials
# (CycloneDX). The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath -m "${1:-target/release-source}")
name=chatparse-$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
time=$(git log -1 --format=%ct)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git archive --prefix="$name/" HEAD | tar -x -C "$work"
cd "$work/$name"
mkdir .cargo
cargo vendor --locked --versioned-dirs vendor >"$work/config" 2>"$work/said" || { cat "$work/said" >&2 && exit 1; }
mv "$work/config" .cargo/config.toml
python3 .ci/materials.py LICENCES.txt chatparse.cdx.json
cd ..

mkdir -p "$out"
tar --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --mode=go=rX -c "$name" | gzip -9n >"$out/$name.tar.gz"
cp "$name/LICENCES.txt" "$name/chatparse.cdx.json" "$out"
"$name/.ci/prebuilt.sh" "$out"
"$name/.ci/debs.sh" "$out"
cd "$out" && sha256sum "$name"* ./*.deb LICENCES.txt chatparse.cdx.json
