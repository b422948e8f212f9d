#!/usr/bin/env bash
# cases.sh CASES...: the program, run so, reads the cases of tests/cases. Ends with 77 where no Python can read them.
set -euo pipefail
python3 -c 'import tomllib' 2>/dev/null || {
  echo "SKIP: there is no python3 with tomllib"
  exit 77
}
python3 "$(dirname "$0")/../tests/cases/expand.py" | "$@"
