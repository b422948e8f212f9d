#!/usr/bin/env bash
# test.sh PREFIX WORK: builds the wheel with the library installed in PREFIX, installs it where nothing else is, and runs the tests. WORK is
# a folder for what is built. Ends with 77 where Python, its headers or what the tests need cannot be had.
set -euo pipefail
prefix=$1 work=$2
cd "$(dirname "$0")"
# Others change with each version.
tools=(setuptools==84.2.1 pytest==9.2.0 mypy==2.4.1)

skip() {
  echo "SKIP: $*"
  exit 77
}

command -v python3 >/dev/null || skip "no python3"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "Python is older than 3.10"
headers=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -e "$headers/Python.h" ] || skip "no headers of Python (python3-dev)"
if [ "$(cat "$work/tools/installed" 2>/dev/null)" != "${tools[*]}" ]; then
  rm -rf "$work/tools"
  python3 -m venv "$work/tools" || skip "no python3-venv"
  "$work/tools/bin/pip" install --quiet --disable-pip-version-check "${tools[@]}" || skip "${tools[*]} cannot be installed"
  echo "${tools[*]}" >"$work/tools/installed"
fi

export PYTHONDONTWRITEBYTECODE=1 CHATPARSE_PREFIX=$prefix CARGO_TARGET_DIR=$work/target
rm -rf "$work/wheel"
wheel=$(PYTHON=$work/tools/bin/python ./build.sh "$work/wheel")
rm -rf "$work/fresh"
python3 -m venv "$work/fresh"
"$work/fresh/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
# The tests' tools, behind what is installed.
site=$("$work/tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
PYTHONPATH=$site "$work/fresh/bin/python" -m pytest --quiet -p no:cacheprovider
"$work/tools/bin/mypy" --cache-dir "$work/mypy" src/chatparse
