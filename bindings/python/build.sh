#!/usr/bin/env bash
# build.sh [FOLDER]: the wheel of this machine's platform, in FOLDER (default: target/wheels). The library inside is that of the
# installation in CHATPARSE_PREFIX, or is compiled by cargo. PYTHON says with which Python, one that has setuptools.
set -euo pipefail
cd "$(dirname "$0")"
folder=${1:-../../target/wheels}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
python=${PYTHON:-python3}
"$python" -m pip wheel --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --wheel-dir "$folder" .
ls "$folder"/chatparse-*.whl
